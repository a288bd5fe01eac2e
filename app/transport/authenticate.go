package transport

import (
	"context"
	"time"

	"google.golang.org/grpc/peer"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// verdict is the answer for a connection while the files are of a generation, until a certificate of its chain ends.
type verdict struct {
	generation uint64
	until      time.Time
	caller     *access.Caller
}

// Authenticator knows runners by their certificates, which ids reads. A certificate is judged once for each connection and each
// change of the files, so that one that is revoked, or that has ended, is refused on standing connections, too.
func (s *Source) Authenticator(ids RunnerIDs) access.Authenticator {
	return func(ctx context.Context) (*access.Caller, error) {
		p, ok := peer.FromContext(ctx)
		if !ok {
			return nil, nil
		}
		conn, ok := p.AuthInfo.(*connection)
		if !ok || len(conn.State.PeerCertificates) == 0 {
			return nil, nil
		}
		m, now := s.now(), s.clock()
		if v := conn.verdict.Load(); v != nil && v.generation == m.generation && now.Before(v.until) {
			return v.caller, nil
		}
		given := conn.State.PeerCertificates
		until, err := m.verify(given, now)
		if err != nil {
			return nil, err
		}
		name, err := ids.Name(given[0])
		if err != nil {
			return nil, err
		}
		v := &verdict{m.generation, until, &access.Caller{
			Name: "runner " + name, Kind: access.Runner, Grants: []access.Grant{{Role: misstepv1.Role_ROLE_RUNNER}},
		}}
		conn.verdict.Store(v)
		return v.caller, nil
	}
}
