package transport

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/app/pki"
)

// Whoever only tries whether the port is open is not worth a line, as Nomad does so every few seconds; whoever says something that
// is no handshake is.
func TestWhoSaysNothingIsNotLogged(t *testing.T) {
	a, _ := authority(t, time.Now())
	s := serve(t, issue(t, a, pki.Coordinator, time.Hour, "127.0.0.1"))
	for _, said := range []string{"", "GET / HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("tcp", s.address)
		require.NoError(t, err)
		_, err = conn.Write([]byte(said))
		require.NoError(t, err)
		if said == "" {
			require.NoError(t, conn.Close())
			require.Never(t, func() bool { return s.log.String() != "" }, 300*time.Millisecond, 20*time.Millisecond)
			continue
		}
		require.Eventually(t, func() bool { return s.log.String() != "" }, 10*time.Second, 20*time.Millisecond)
		require.Contains(t, s.log.String(), "connection refused")
		require.NoError(t, conn.Close())
	}
}
