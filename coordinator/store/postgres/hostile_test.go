package postgres_test

import (
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store/postgres"
)

// Whatever answers in a server's place, Open ends, costs little, and its error does not have the password.
func TestServersThatAreNone(t *testing.T) {
	message := func(kind byte, length uint32) []byte { return binary.BigEndian.AppendUint32([]byte{kind}, length) }
	blank := []byte(strings.Repeat(" ", 64<<10))
	for name, answer := range map[string][]byte{
		"garbage":             []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"nothing":             {},
		"a huge message":      message('R', 1<<30),
		"a huge error":        message('E', 1<<31-1),
		"a huge parameter":    message('S', 1<<30),
		"a negative length":   message('R', 1<<31),
		"no length":           message('R', 0),
		"iterations of SCRAM": append(append(message('R', 4+4+14+1), 0, 0, 0, 10), "SCRAM-SHA-256\x00\x00"...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					go func() {
						defer conn.Close()
						_, _ = io.ReadAtLeast(conn, make([]byte, 1024), 8)
						if _, err := conn.Write(answer); err != nil || len(answer) == 0 {
							_, _ = io.Copy(io.Discard, conn)
						}
						for range 1 << 13 { // 512 MiB
							if _, err := conn.Write(blank); err != nil {
								return
							}
						}
					}()
				}
			}()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err = postgres.Open(t.Context(), "postgres://anna:secret@"+listener.Addr().String()+"/m?sslmode=disable&connect_timeout=2",
				slog.New(slog.DiscardHandler))
			require.Error(t, err)
			runtime.ReadMemStats(&after)
			assert.Less(t, time.Since(began), time.Minute)
			assert.NotContains(t, err.Error(), "secret")
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(512<<20))
		})
	}
}
