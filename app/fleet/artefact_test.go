package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
)

// What the web server has is compared with the digest; only a server that keeps the package from this machine is believed.
func TestCheckArtefact(t *testing.T) {
	sum := sha256.Sum256([]byte("package"))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	for name, c := range map[string]struct {
		serve      http.HandlerFunc
		want, said string
	}{
		"there":     {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "package") }, "", ""},
		"damaged":   {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "packag") }, "is damaged: its digest is sha256:", ""},
		"not there": {http.NotFound, "has no " + nomad.PackageName(digest), ""},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "7")
			fmt.Fprint(w, "pack")
		}, "unexpected EOF", ""},
		"not for us": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "", "403 Forbidden"},
		"gone away":  {nil, "", "this machine does not reach the package"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			if c.serve == nil {
				server.Close()
			}
			said := ""
			cluster := &Cluster{
				Fleet: &misstepv1.Fleet{Artefacts: &misstepv1.FleetArtefacts{Url: server.URL}},
				Say:   func(format string, a ...any) { said += fmt.Sprintf(format, a...) },
			}
			err := cluster.checkArtefact(t.Context(), digest)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			require.Contains(t, said, c.said)
			require.Equal(t, c.said == "", said == "", said)
			given := errors.New("gave up")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(given)
			require.ErrorIs(t, cluster.checkArtefact(ctx, digest), given)
		})
	}
}
