package transport

import (
	"context"
	"crypto/x509"
	"time"

	"google.golang.org/grpc/peer"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// verdict is the answer for a connection while the files are of a generation, until a certificate of its chain ends; one that is
// bad until refusedFor is over.
type verdict struct {
	generation uint64
	until      time.Time
	caller     *access.Caller
	err        error
}

// refusedFor bounds how often the signatures of a bad certificate are checked, however often its holder calls.
const refusedFor = 10 * time.Second

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
			return v.caller, v.err
		}
		v := m.judge(ids, conn.State.PeerCertificates, now)
		conn.verdict.Store(v)
		return v.caller, v.err
	}
}

// judge judges the certificates of a client, its own first.
func (m *material) judge(ids RunnerIDs, given []*x509.Certificate, now time.Time) *verdict {
	until, err := m.verify(given, now)
	var name string
	if err == nil {
		name, err = ids.Name(given[0])
	}
	if err != nil {
		return &verdict{m.generation, now.Add(refusedFor), nil, err}
	}
	return &verdict{m.generation, until, &access.Caller{
		Name: "runner " + name, Kind: access.Runner, Grants: []access.Grant{{Role: misstepv1.Role_ROLE_RUNNER}},
	}, nil}
}
