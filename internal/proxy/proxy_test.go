package proxy

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// echo answers each line with itself.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					fmt.Fprintln(c, lines.Text())
				}
			}()
		}
	}()
	return l.Addr().String()
}

// ask sends a line and returns the answer within a time.
func ask(c net.Conn, line string, within time.Duration) (string, error) {
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	text, err := bufio.NewReader(c).ReadString('\n')
	return text, err
}

func TestProxy(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("misstep/internal/proxy.echo.func2.1"),
		goleak.IgnoreAnyFunction("misstep/internal/proxy.echo.func2"))
	p, err := Listen(echo(t))
	require.NoError(t, err)
	defer p.Close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.Address())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := dial()
	got, err := ask(c, "one", 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, "one\n", got)

	p.Freeze()
	_, err = ask(c, "two", 50*time.Millisecond)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "no answer, and no error of the connection")
	late := dial()
	_, err = ask(late, "three", 50*time.Millisecond)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	p.Thaw()
	require.NoError(t, late.SetDeadline(time.Now().Add(10*time.Second)))
	text, err := bufio.NewReader(late).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "three\n", text, "what was sent meanwhile is passed on")

	p.Delay(60 * time.Millisecond)
	began := time.Now()
	_, err = ask(late, "four", 10*time.Second)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), 120*time.Millisecond, "there and back")
	p.Delay(0)

	p.Cut()
	_, err = ask(late, "five", 10*time.Second)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	if refused, err := net.Dial("tcp", p.Address()); err == nil { // the reset may be faster
		_, err = ask(refused, "six", 10*time.Second)
		require.Error(t, err)
		require.NoError(t, refused.Close())
	}
	p.Restore()
	got, err = ask(dial(), "seven", 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, "seven\n", got)
}
