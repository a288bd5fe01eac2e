package station_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// attack is one thing that a holder of a credential may try. It returns an error of the test's own, if it succeeded.
type attack func(ctx context.Context) error

// try makes attacks in any order until the time is over, beside the honest runner.
func (s *siege) try(attacks map[string]attack) {
	names := make([]string, 0, len(attacks))
	for name := range attacks {
		names = append(names, name)
	}
	slices.Sort(names)
	ctx, cancel := context.WithTimeout(s.ctx, *hostile)
	defer cancel()
	var working sync.WaitGroup
	working.Go(func() { s.work(ctx) })
	for i := 0; ctx.Err() == nil; i++ {
		name := names[rand.IntN(len(names))]
		if i < len(names) {
			name = names[i] // each at least once
		}
		if err := attacks[name](s.ctx); err != nil {
			s.leak("%s: %v", name, err)
		}
		s.tried[name]++
	}
	working.Wait()
	for _, name := range names {
		assert.Positive(s.t, s.tried[name], name)
	}
	s.t.Logf("tried: %v", s.tried)
}

// check asserts that everything of the honest runner is there, once, and nothing that nobody wrote.
func (s *siege) check(hostileWrote func(digest string) bool) {
	require.Empty(s.t, s.leaks)
	admin := misstepv1.NewAdminServiceClient(s.connect("admin"))
	request := &misstepv1.ListTrialsRequest{CampaignId: s.campaign}
	found := map[string]int{}
	for {
		page, err := admin.ListTrials(s.ctx, request)
		require.NoError(s.t, err)
		for _, trial := range page.GetTrials() {
			for _, e := range trial.GetOutcome().GetEvidence() {
				assert.Equal(s.t, "x.txt", e.GetName())
				assert.Empty(s.t, e.GetReceipt())
				found[e.GetDigest()]++
				if !s.acknowledged[e.GetDigest()] {
					assert.True(s.t, hostileWrote(e.GetDigest()), "evidence %s is nobody's", e.GetDigest())
				}
			}
		}
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			break
		}
	}
	assert.Greater(s.t, len(s.acknowledged), 10, "the honest runner got to work")
	for digest := range s.acknowledged {
		assert.Equal(s.t, 1, found[digest], "the honest runner's %s", digest)
	}
	findings, err := admin.ListFindings(s.ctx, &misstepv1.ListFindingsRequest{})
	require.NoError(s.t, err)
	assert.Empty(s.t, findings.GetFindings(), "nobody found anything")
	for name := range listed(s.t, filepath.Dir(s.dir)) {
		assert.NotContains(s.t, name, "climbed")
	}
}

func listed(t *testing.T, dir string) map[string]bool {
	all := map[string]bool{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all[path] = true
		return err
	}))
	return all
}

// refused returns an error if a call succeeded.
func refused(err error, want ...codes.Code) error {
	switch {
	case err == nil:
		return fmt.Errorf("it succeeded")
	case len(want) > 0 && !slices.Contains(want, status.Code(err)):
		return fmt.Errorf("expected one of %v, got %w", want, err)
	}
	return nil
}

// raw sends bytes as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil } //nolint:forcetypeassert // only this file calls it
func (raw) Unmarshal([]byte, any) error   { return nil }
func (raw) Name() string                  { return "proto" }

// garble returns a message with some bytes changed, cut off or repeated.
func garble(m proto.Message) []byte {
	b, _ := proto.Marshal(m)
	for range 1 + rand.IntN(8) {
		switch {
		case len(b) == 0:
			b = []byte{byte(rand.Uint32())}
		case rand.IntN(4) == 0:
			b = b[:rand.IntN(len(b))]
		case rand.IntN(4) == 0:
			b = append(b, b[rand.IntN(len(b)):]...)
		default:
			b[rand.IntN(len(b))] = byte(rand.Uint32())
		}
	}
	return b
}

// forbidden calls all methods that a role may not call, with an empty message.
func forbidden(ctx context.Context, conn *grpc.ClientConn, role misstepv1.Role) error {
	for _, service := range access.Services() {
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			if mayCall(m, role) || m.IsStreamingClient() || m.IsStreamingServer() {
				continue
			}
			name := fmt.Sprintf("/%s/%s", service.FullName(), m.Name())
			err := conn.Invoke(ctx, name, &[]byte{}, &[]byte{}, grpc.ForceCodec(raw{}))
			if err := refused(err, codes.PermissionDenied, codes.Unimplemented); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func mayCall(m protoreflect.MethodDescriptor, role misstepv1.Role) bool {
	return slices.ContainsFunc(access.Describe(m).Roles, func(needed misstepv1.Role) bool {
		return !access.Grantable(needed) || access.Includes(role, needed)
	})
}
