package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// patience bounds what a test does in a tab.
const patience = 4 * time.Minute

// Tab is a tab of a browser, with cookies of its own.
type Tab struct {
	t    testing.TB
	ctx  context.Context
	site *url.URL

	mu       sync.Mutex
	problems []string
}

// Open opens a tab for the pages of a site, until the test ends.
func (b *Browser) Open(t testing.TB, site string) *Tab {
	t.Helper()
	at, err := url.Parse(site)
	require.NoError(t, err)
	tab := &Tab{t: t, site: at}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(tab.listen))
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(ctx))
	var stop context.CancelFunc
	tab.ctx, stop = context.WithTimeout(ctx, patience)
	t.Cleanup(stop)
	_, err = chromedp.Call(tab.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	require.NoError(t, err) // as if each tab were in front
	return tab
}

// Problems are what pages of this tab did that they may not do: requests to other hosts, parts that the site refuses, scripts that
// fail or complain, dialogs, and what the Content-Security-Policy forbids.
func (tab *Tab) Problems() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.problems...)
}

func (tab *Tab) problem(format string, args ...any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.problems = append(tab.problems, fmt.Sprintf(format, args...))
}

func (tab *Tab) listen(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if to, err := url.Parse(e.Request.URL); err != nil || to.Host != tab.site.Host {
			tab.problem("request to another host: %s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		if e.Type != network.ResourceTypeDocument && e.Response.Status >= http.StatusBadRequest {
			tab.problem("%s answers %d", e.Response.URL, e.Response.Status)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			tab.problem("%s: %s", e.Entry.Source, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		tab.problem("script: %v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			tab.problem("console: %s", e.Args[0].Value)
		}
	case *page.EventJavascriptDialogOpening:
		tab.problem("dialog: %s", e.Message)
		go func() { // a listener must not wait for the browser
			_, _ = chromedp.Call(tab.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}()
	}
}

// Do carries out actions.
func (tab *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	require.NoError(tab.t, chromedp.Do(tab.ctx, actions...))
}

// Visit shows a page of the site and returns the status of the answer.
func (tab *Tab) Visit(path string) int {
	return tab.Follow(chromedp.Navigate(tab.site.String() + path))
}

// Follow carries out actions that lead to another page, and returns the status of the answer.
func (tab *Tab) Follow(actions ...chromedp.Action[chromedp.Void]) int {
	tab.t.Helper()
	response, err := chromedp.RunResponse(tab.ctx, actions...)
	require.NoError(tab.t, err)
	return int(response.Status)
}

// At is the address of the page that is shown, within the site.
func (tab *Tab) At() string { return Eval[string](tab, "location.pathname + location.search") }

// Eval returns the value of a JavaScript expression, or what its promise becomes.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	value, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(tab.t, err, "%.200s", expression)
	return value
}

// Await waits until a JavaScript expression is true.
func (tab *Tab) Await(expression string) {
	tab.t.Helper()
	for !Eval[bool](tab, expression) {
		select {
		case <-tab.ctx.Done():
			tab.t.Fatalf("never true: %s", expression)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Look is how a page is shown.
type Look struct {
	Name          string
	Width, Height int64
	// Scheme of colours: light or dark.
	Scheme string
}

// Desktop and Phone are looks.
var (
	Desktop = Look{"desktop-light", 1280, 800, "light"}
	Phone   = Look{"phone-dark", 390, 844, "dark"}
)

// Emulate shows the pages in that look from now on.
func (tab *Tab) Emulate(look Look) {
	tab.t.Helper()
	_, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.Scheme}},
	})
	require.NoError(tab.t, err)
	tab.Do(chromedp.EmulateViewport(look.Width, look.Height))
}

// DisableScripts shows pages as they are without JavaScript from now on.
func (tab *Tab) DisableScripts() {
	tab.t.Helper()
	_, err := chromedp.Call(tab.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(tab.t, err)
}

// RunBefore runs a script in each page before those of the page, from now on.
func (tab *Tab) RunBefore(script string) {
	tab.t.Helper()
	_, err := chromedp.Call(tab.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(tab.t, err)
}

// Screenshot writes what the whole page looks like to build/test/screens/NAME.png.
func (tab *Tab) Screenshot(name string) {
	tab.t.Helper()
	picture, err := chromedp.Run(tab.ctx, chromedp.FullScreenshot(100))
	require.NoError(tab.t, err)
	dir := filepath.Join(testenv.Root(), "build", "test", "screens")
	require.NoError(tab.t, os.MkdirAll(dir, 0o755))
	require.NoError(tab.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
}

// Download clicks what a selector selects and returns the content of the file that is downloaded.
func (tab *Tab) Download(selector, name string) []byte {
	tab.t.Helper()
	dir := tab.t.TempDir()
	_, err := chromedp.CallBrowser(tab.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
		BrowserContextID: chromedp.FromContext(tab.ctx).BrowserContextID,
	})
	require.NoError(tab.t, err)
	tab.Do(chromedp.Click(chromedp.CSS(selector)))
	for { // it has another name until it is complete
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			return content
		}
		require.ErrorIs(tab.t, err, os.ErrNotExist)
		select {
		case <-tab.ctx.Done():
			tab.t.Fatalf("%s was not downloaded", name)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
