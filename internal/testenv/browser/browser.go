// Package browser opens pages in a real Chromium for tests, and keeps what they do that no page of this project may do.
package browser

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Browser is a running Chromium without a window. It reaches addresses of this host only.
type Browser struct{ ctx context.Context }

// Start starts a browser, which ends with the test; the test is skipped where there is none. It trusts the certificates that are
// given, too, whoever issued them.
func Start(t testing.TB, trusted ...*x509.Certificate) *Browser {
	t.Helper()
	ctx, end, err := Launch(context.Background(), trusted...)
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(end)
	return &Browser{ctx}
}

// Launch starts a browser for something else than a test: the context is that of its first tab. The error is exec.ErrNotFound where
// there is no Chromium.
func Launch(ctx context.Context, trusted ...*x509.Certificate) (tab context.Context, end func(), err error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, nil, fmt.Errorf("no Chromium: %w; deploy/setup/install.sh test installs it", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	if len(trusted) > 0 {
		options = append(options, chromedp.Flag("ignore-certificate-errors-spki-list", strings.Join(pins(trusted), ",")))
	}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has none for root
	}
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	tab, leave := chromedp.NewContext(ctx)
	end = func() {
		leave()
		stop()
	}
	if err := chromedp.Do(tab); err != nil {
		end()
		return nil, nil, err
	}
	return tab, end, nil
}

// pins are the digests of the certificates' public keys, as Chromium and RFC 7469 write them.
func pins(certificates []*x509.Certificate) (list []string) {
	for _, c := range certificates {
		digest := sha256.Sum256(c.RawSubjectPublicKeyInfo)
		list = append(list, base64.StdEncoding.EncodeToString(digest[:]))
	}
	return list
}
