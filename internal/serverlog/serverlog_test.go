package serverlog_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/internal/serverlog"
)

// However often a stranger speaks no TLS, the log has a few lines, through slog.
func TestHandshakesThatFailAreLoggedBoundedly(t *testing.T) {
	var logged bytes.Buffer
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = serverlog.New(slog.New(slog.NewTextHandler(&logged, nil)), "pages")
	s.StartTLS()
	for range 200 {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
		require.NoError(t, err)
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.Copy(io.Discard, conn) // until the server has refused it
		_ = conn.Close()
	}
	s.Close()
	lines := strings.Split(strings.TrimSpace(logged.String()), "\n")
	require.NotEmpty(t, lines)
	require.Less(t, len(lines), 30, "of 200")
	require.Contains(t, lines[0], `level=WARN msg=connection server=pages error="http: TLS handshake error from 127.0.0.1:`)
}
