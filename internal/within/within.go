// Package within makes connections inside this process, which a server can tell from all others: nobody else can open one, so they
// need no encryption. Who calls over them is asked as over any other connection.
package within

import (
	"context"
	"net"

	"google.golang.org/grpc/test/bufconn"
)

// buffer is what a connection holds on its way, in bytes.
const buffer = 1 << 20

// Listener accepts what Dial opens.
type Listener struct{ *bufconn.Listener }

// Listen returns a new listener.
func Listen() Listener { return Listener{bufconn.Listen(buffer)} }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

// Dial opens a connection.
func (l Listener) Dial(ctx context.Context) (net.Conn, error) { return l.DialContext(ctx) }

// conn is the server's end of a connection inside this process.
type conn struct{ net.Conn }

// Is reports whether a server's connection was opened inside this process.
func Is(c net.Conn) bool {
	_, ok := c.(conn)
	return ok
}
