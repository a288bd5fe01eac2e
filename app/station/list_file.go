package station

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/resolver"
)

// listPrefix is before the path of a file in a list of addresses.
const listPrefix = "file:"

// ListFile is, in a list of addresses, what a file says at the time: a HOST:PORT a line. The file is read again while it is used,
// so that coordinators can move; it may be missing or empty for a while.
func ListFile(path string) string { return listPrefix + path }

// listError begins errors about a file of addresses.
const listError = "list of coordinators"

// listEvery is how often a file of addresses is looked at.
const listEvery = 2 * time.Second

// listed resolves what a file of addresses says.
type listed struct {
	path string
	conn resolver.ClientConn
	now  chan struct{}
	stop context.CancelFunc
	done sync.WaitGroup
}

func watchList(path string, conn resolver.ClientConn) *listed {
	ctx, stop := context.WithCancel(context.Background())
	l := &listed{path: path, conn: conn, now: make(chan struct{}, 1), stop: stop}
	l.done.Go(func() { l.watch(ctx) })
	return l
}

// ResolveNow implements resolver.Resolver.
func (l *listed) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case l.now <- struct{}{}:
	default:
	}
}

// Close implements resolver.Resolver.
func (l *listed) Close() {
	l.stop()
	l.done.Wait()
}

func (l *listed) watch(ctx context.Context) {
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	var last []byte
	asked := true
	for {
		text, err := os.ReadFile(l.path)
		if err != nil || asked || !bytes.Equal(text, last) {
			l.update(ctx, text, err)
			last = text
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			asked = false
		case <-l.now:
			asked = true
		}
	}
}

// update tells the connection what the file says. A file that says nothing leaves it as it is, since it is then being written, or
// its coordinators are being moved.
func (l *listed) update(ctx context.Context, text []byte, err error) {
	var state resolver.State
	errs := []error{err}
	for line := range strings.Lines(string(text)) {
		address := strings.TrimSpace(line)
		if address == "" {
			continue
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			errs = append(errs, fmt.Errorf("expected HOST:PORT a line, got %.100q", address))
			continue
		}
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		errs = append(errs, err)
		for _, ip := range ips {
			state.Addresses = append(state.Addresses, resolver.Address{Addr: net.JoinHostPort(ip, port), ServerName: host})
		}
	}
	if len(state.Addresses) > 0 {
		_ = l.conn.UpdateState(state) // an error asks to resolve again, which happens anyway
		return
	}
	if err = errors.Join(errs...); err == nil {
		err = fmt.Errorf("%s names no coordinator yet", l.path)
	}
	l.conn.ReportError(fmt.Errorf("%s: %w", listError, err))
}
