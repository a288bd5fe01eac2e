// Package browser opens pages in a real Chromium for tests, and keeps what they do that no page of this project may do.
package browser

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Browser is a running Chromium without a window. It reaches addresses of this host only.
type Browser struct{ ctx context.Context }

// Start starts a browser, which ends with the test; the test is skipped where there is none.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no Chromium: %v; deploy/setup/install.sh test installs it", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(ctx))
	return &Browser{ctx}
}
