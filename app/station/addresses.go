package station

import (
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/resolver"
)

// addresses is the resolver of a list of HOST:PORT, each of which may be a name with several addresses, or of a ListFile. gRPC's
// own resolver of names resolves each; the connection gets the addresses of all, each once. Names that cannot be resolved matter
// only while no address is known at all.
type addresses struct {
	list []string
	// unresolved is why no address is known, in words; nil when nothing was wrong yet.
	unresolved atomic.Value
}

// addressScheme is the scheme of the targets that addresses resolves.
const addressScheme = "misstep"

// target is the target of a connection to the list; only errors of gRPC show it.
func (a *addresses) target() string { return addressScheme + ":///" + strings.Join(a.list, ",") }

// Scheme implements resolver.Builder.
func (a *addresses) Scheme() string { return addressScheme }

// OverrideAuthority implements resolver.AuthorityOverrider: a list is no authority.
func (a *addresses) OverrideAuthority(resolver.Target) string { return a.list[0] }

// Build implements resolver.Builder.
func (a *addresses) Build(_ resolver.Target, conn resolver.ClientConn, options resolver.BuildOptions) (resolver.Resolver, error) {
	names := resolver.Get("dns")
	if names == nil {
		return nil, errors.New("gRPC has no resolver of names; this is a bug in Misstep")
	}
	all := &merged{names: a, conn: conn, known: make([][]resolver.Endpoint, len(a.list))}
	for i, address := range a.list {
		if file, is := strings.CutPrefix(address, listPrefix); is {
			all.parts = append(all.parts, watchList(file, &part{ClientConn: conn, all: all, index: i}))
			continue
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			all.Close()
			return nil, err
		}
		var target resolver.Target
		target.URL.Scheme, target.URL.Path = "dns", "/"+address
		r, err := names.Build(target, &part{ClientConn: conn, all: all, index: i, host: host}, options)
		if err != nil {
			all.Close()
			return nil, err
		}
		all.parts = append(all.parts, r)
	}
	return all, nil
}

// merged joins what the resolvers of the parts find. Safe for concurrent use.
type merged struct {
	names *addresses
	conn  resolver.ClientConn
	parts []resolver.Resolver // constant after Build

	mu    sync.Mutex
	known [][]resolver.Endpoint // by part, nil while nothing was found
}

// ResolveNow implements resolver.Resolver.
func (m *merged) ResolveNow(o resolver.ResolveNowOptions) {
	for _, p := range m.parts {
		p.ResolveNow(o)
	}
}

// Close implements resolver.Resolver.
func (m *merged) Close() {
	for _, p := range m.parts {
		p.Close()
	}
}

// update tells the connection what is known of all parts.
func (m *merged) update(index int, found []resolver.Endpoint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[index] = found
	var state resolver.State
	seen := map[string]bool{}
	for _, endpoints := range m.known {
		for _, e := range endpoints {
			if address := e.Addresses[0].Addr; !seen[address] {
				seen[address] = true
				state.Endpoints = append(state.Endpoints, e)
				state.Addresses = append(state.Addresses, e.Addresses...)
			}
		}
	}
	return m.conn.UpdateState(state)
}

// fail tells the connection of a name that cannot be resolved, unless an address is known.
func (m *merged) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, endpoints := range m.known {
		if len(endpoints) > 0 {
			return
		}
	}
	m.names.unresolved.Store(err.Error()) // gRPC's balancer keeps it to itself
	m.conn.ReportError(err)
}

// part is the connection as the resolver of one HOST:PORT sees it.
type part struct {
	resolver.ClientConn
	all   *merged
	index int
	host  string
}

// UpdateState implements resolver.ClientConn.
func (p *part) UpdateState(s resolver.State) error {
	var found []resolver.Endpoint
	for _, a := range s.Addresses {
		if a.ServerName == "" {
			a.ServerName = p.host // of the certificate, where there is one
		}
		found = append(found, resolver.Endpoint{Addresses: []resolver.Address{a}})
	}
	return p.all.update(p.index, found)
}

// ReportError implements resolver.ClientConn.
func (p *part) ReportError(err error) { p.all.fail(err) }
