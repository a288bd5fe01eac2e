// Package proxy forwards TCP connections and does to them what networks do: it cuts them, freezes them, delays and slows them.
package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy forwards every connection to its address to another one. Safe for concurrent use.
type Proxy struct {
	listener net.Listener
	upstream string
	ending   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	refuse bool
	// thaw is closed when a frozen proxy continues; nil while nothing is frozen.
	thaw  chan struct{}
	delay time.Duration
	open  map[net.Conn]bool
}

// Listen starts a proxy on a free port of the loopback interface. The caller closes it.
func Listen(upstream string) (*Proxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for connections to %s: %w", upstream, err)
	}
	p := &Proxy{listener: listener, upstream: upstream, open: map[net.Conn]bool{}}
	p.ending.Go(p.accept)
	return p, nil
}

// Address is where the proxy listens, as HOST:PORT.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Freeze keeps all connections open, new ones included, and passes nothing on, as behind a partition or a stopped process. What was
// sent meanwhile is passed on by Thaw.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.thaw == nil {
		p.thaw = make(chan struct{})
	}
}

// Thaw ends Freeze.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.thaw != nil {
		close(p.thaw)
		p.thaw = nil
	}
}

// Delay makes every piece of data that passes wait; 0 ends that.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Cut resets all connections. New ones are accepted and reset at once until Restore is called.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
	p.reset()
}

// Restore ends Cut.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
}

// Reset resets all connections; new ones are forwarded.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
}

// reset is Reset with mu held.
func (p *Proxy) reset() {
	for c := range p.open {
		abort(c)
	}
}

// abort closes a connection so that the other end receives a reset.
func abort(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// Close ends all connections and returns when nothing is left.
func (p *Proxy) Close() error {
	p.Thaw()
	p.mu.Lock()
	p.closed = true
	p.reset()
	p.mu.Unlock()
	err := p.listener.Close()
	p.ending.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if !p.admit(client) {
			abort(client)
			continue
		}
		p.ending.Go(func() { p.serve(client) })
	}
}

// admit notes an open connection; it returns false if there may be none.
func (p *Proxy) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.closed {
		return false
	}
	p.open[c] = true
	return true
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	_ = c.Close()
}

func (p *Proxy) serve(client net.Conn) {
	defer p.forget(client)
	if !p.pause() {
		return
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), "tcp", p.upstream)
	if err != nil {
		abort(client)
		return
	}
	if !p.admit(server) {
		abort(server)
		return
	}
	defer p.forget(server)
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client) })
	both.Go(func() { p.copy(client, server) })
	both.Wait()
}

// copy passes data on until one end closes, then closes the other for writing.
func (p *Proxy) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !p.pause() {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				abort(from)
				return
			}
		}
		switch {
		case err == io.EOF: //nolint:errorlint // what Read returns itself
			if t, ok := to.(*net.TCPConn); ok {
				_ = t.CloseWrite()
			}
			return
		case err != nil:
			abort(to)
			return
		}
	}
}

// pause waits as long as data must wait; it returns false when the proxy is closed.
func (p *Proxy) pause() bool {
	p.mu.Lock()
	thaw, delay := p.thaw, p.delay
	p.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	if thaw != nil {
		<-thaw
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed
}
