package station

import (
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"misstep/coordinator"
)

// connections is a listener that knows what it has accepted. A gRPC server that stops, gracefully or not, waits for each connection
// whose client has not finished its handshake, for as long as that may take (Server.stop waits for handleRawConn before it closes
// anything): two minutes for one that says nothing. Nomad's TCP checks are such clients: 1.6 leaves their connections open until
// its garbage collector finds them (checkTCP in client/serviceregistration/checks).
type connections struct {
	net.Listener

	mu      sync.Mutex
	open    map[*guest]struct{} // guarded by mu
	closing bool                // guarded by mu: the server stops
}

// guest is one of its connections.
type guest struct {
	net.Conn
	of    *connections
	spoke atomic.Bool
}

func newConnections(l net.Listener) *connections {
	return &connections{Listener: l, open: map[*guest]struct{}{}}
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	raw, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		endWithSilence(tcp)
	}
	one := &guest{Conn: raw, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		_ = raw.Close()
	}
	c.open[one] = struct{}{}
	return one, nil
}

// endWithSilence ends a connection whose client does not acknowledge what is sent to it for as long as coordinator.Ping waits for
// an answer. gRPC does so for the connections that are not wrapped (internal/syscall.SetTCPUserTimeout). Without it a vanished
// client is found out later, by its silence, so an error does not matter.
func endWithSilence(tcp *net.TCPConn) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(coordinator.Ping.Timeout.Milliseconds()))
	})
}

// hangUp closes the connections whose clients have said nothing, those that come from now on, and with all the others too.
func (c *connections) hangUp(all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	for one := range c.open {
		if all || !one.Spoke() {
			_ = one.Conn.Close()
		}
	}
}

// Read implements net.Conn.
func (c *guest) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.Spoke() {
		c.spoke.Store(true)
	}
	return n, err
}

// Spoke reports whether the client has said anything, for the log of handshakes that fail.
func (c *guest) Spoke() bool { return c.spoke.Load() }

// Close implements net.Conn.
func (c *guest) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
