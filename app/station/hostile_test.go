package station_test

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator"
	"misstep/corpus"
	"misstep/corpus/tree"
	misstepv1 "misstep/proto/misstep/v1"
)

// TestHostileRunner holds a runner's credential and tries to speak for others, to read and write what is not its business, and to
// spoil the store.
func TestHostileRunner(t *testing.T) {
	s := besiege(t)
	conn := s.connect("hostile")
	leases, blobs, service := misstepv1.NewLeaseServiceClient(conn), newWriter(conn), misstepv1.NewCorpusServiceClient(conn)
	me := &misstepv1.Runner{Id: "h", Slots: 4}
	var own *misstepv1.Lease // a lease of its own, and what it wrote for it
	sync := func(ctx context.Context, runner *misstepv1.Runner, held ...*misstepv1.HeldLease) (*misstepv1.SynchronizeResponse, error) {
		return leases.Synchronize(ctx, &misstepv1.SynchronizeRequest{Runner: runner, Held: held})
	}
	take := func(ctx context.Context) error {
		answer, err := leases.Synchronize(ctx, &misstepv1.SynchronizeRequest{Runner: me, FreeSlots: 1})
		if err == nil && len(answer.GetDesired()) > 0 {
			own = answer.GetDesired()[0]
		}
		return err
	}
	crash := func(l *misstepv1.Lease) *misstepv1.HeldLease {
		h := quiet(of(l))
		h.GetOutcome().Kind = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH
		h.GetOutcome().Crash = &misstepv1.Crash{Error: "SIGSEGV (0xb)", ProblematicFrame: "C  [forged]"}
		return h
	}
	// forged reports on a lease that is not its own.
	forged := func(ctx context.Context, runner *misstepv1.Runner, id string) error {
		h := crash(nil)
		h.LeaseId = id
		answer, err := sync(ctx, runner, h)
		for _, l := range answer.GetDesired() {
			if l.GetId() == id {
				return fmt.Errorf("it was told of lease %s", id)
			}
		}
		return err
	}
	// spoilt reports an outcome on its own lease that must not be recorded.
	spoilt := func(ctx context.Context, change func(*misstepv1.Outcome)) error {
		if err := take(ctx); err != nil || own == nil {
			return err
		}
		h := quiet(own)
		change(h.GetOutcome())
		_, err := sync(ctx, me, h)
		own = nil
		return err
	}
	s.try(map[string]attack{
		"an honest result": func(ctx context.Context) error {
			if err := take(ctx); err != nil || own == nil {
				return err
			}
			e, err := blobs.write(ctx, []byte(crand.Text()))
			if err != nil {
				return err
			}
			_, err = sync(ctx, me, quiet(own, e))
			return err
		},
		"a lease that it saw": func(ctx context.Context) error {
			l, _ := s.seen()
			return forged(ctx, me, "L"+strings.TrimPrefix(l, "L"))
		},
		"a lease that it guesses": func(ctx context.Context) error { return forged(ctx, me, fmt.Sprintf("L%016x", rand.Uint64())) },
		"the name of another runner": func(ctx context.Context) error {
			l, _ := s.seen()
			return forged(ctx, &misstepv1.Runner{Id: "r", Slots: 1}, "L"+strings.TrimPrefix(l, "L"))
		},
		"a replayed outcome": func(ctx context.Context) error {
			if own == nil {
				return nil
			}
			_, err := sync(ctx, me, crash(own))
			return err
		},
		"a crash of another recipe": func(ctx context.Context) error {
			return spoilt(ctx, func(o *misstepv1.Outcome) {
				o.Kind, o.Crash = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, &misstepv1.Crash{Error: "x"}
				o.RecipeDigest = s.jdk.String()
			})
		},
		"foreign checks": func(ctx context.Context) error {
			return spoilt(ctx, func(o *misstepv1.Outcome) { o.Checks[0].Check = "edges" })
		},
		"evidence of another runner": func(ctx context.Context) error {
			_, digest := s.seen()
			return spoilt(ctx, func(o *misstepv1.Outcome) {
				o.Evidence = []*misstepv1.Evidence{{Name: "stolen.txt", Digest: digest, Size: 64, Receipt: []byte("forged")}}
			})
		},
		"a receipt of another blob": func(ctx context.Context) error {
			if err := take(ctx); err != nil {
				return err
			}
			e, err := blobs.write(ctx, []byte(crand.Text()))
			if err != nil {
				return err
			}
			_, digest := s.seen()
			return spoilt(ctx, func(o *misstepv1.Outcome) {
				o.Evidence = []*misstepv1.Evidence{{Name: "stolen.txt", Digest: digest, Size: 64, Receipt: e.GetReceipt()}}
			})
		},
		"a name that climbs": func(ctx context.Context) error {
			return spoilt(ctx, func(o *misstepv1.Outcome) {
				o.Evidence = []*misstepv1.Evidence{{Name: "../../climbed", Digest: s.jdk.String()}}
			})
		},
		"a garbled report": func(ctx context.Context) error {
			m := garble(&misstepv1.SynchronizeRequest{Runner: me, Held: []*misstepv1.HeldLease{crash(own)}})
			_ = conn.Invoke(ctx, misstepv1.LeaseService_Synchronize_FullMethodName, &m, &[]byte{}, grpc.ForceCodec(raw{}))
			return nil // refused or not, nothing of it is recorded
		},
		"a message that is too long": func(ctx context.Context) error {
			m := make([]byte, coordinator.MaxMessage+1)
			return refused(conn.Invoke(ctx, misstepv1.LeaseService_Synchronize_FullMethodName, &m, &[]byte{},
				grpc.ForceCodec(raw{}), grpc.MaxCallSendMsgSize(2*coordinator.MaxMessage)))
		},
		"a list that is too long": func(ctx context.Context) error {
			held := make([]*misstepv1.HeldLease, 5000)
			for i := range held {
				running := &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{}}
				held[i] = &misstepv1.HeldLease{LeaseId: fmt.Sprint(i), State: running}
			}
			_, err := sync(ctx, me, held...)
			return refused(err, codes.InvalidArgument)
		},
		"reading others' evidence": func(ctx context.Context) error {
			_, digest := s.seen()
			if digest == "" {
				return nil
			}
			d, err := corpus.ParseDigest(digest)
			if err != nil {
				return err
			}
			_, _, err = blobs.Open(ctx, d)
			return refused(err, codes.NotFound)
		},
		"asking for others' evidence": func(ctx context.Context) error {
			_, digest := s.seen()
			if digest == "" {
				return nil
			}
			missing, err := service.FindMissing(ctx, &misstepv1.FindMissingRequest{Digests: []string{digest}})
			if err == nil && len(missing.GetDigests()) == 0 {
				err = fmt.Errorf("it was told that %s is stored", digest)
			}
			return err
		},
		"a blob of another digest": func(ctx context.Context) error {
			if err := take(ctx); err != nil {
				return err
			}
			_, _, err := blobs.Put(ctx, strings.NewReader(crand.Text()), s.jdk)
			return refused(err)
		},
		"a write that never ends well": func(ctx context.Context) error {
			stream, err := service.Write(ctx)
			if err != nil {
				return err
			}
			sum := make([]byte, 32)
			_, _ = crand.Read(sum)
			_ = stream.Send(&misstepv1.WriteRequest{Digest: "sha256:" + hex.EncodeToString(sum), Data: make([]byte, 1<<20)})
			_ = stream.Send(&misstepv1.WriteRequest{Digest: "sha256:" + hex.EncodeToString(sum), Data: make([]byte, 2<<20)})
			_, err = stream.CloseAndRecv()
			return refused(err)
		},
		"a signed write": func(ctx context.Context) error {
			blobs := []*misstepv1.BlobSize{{Digest: s.jdk.String(), Size: 1}}
			_, err := service.SignWrites(ctx, &misstepv1.SignWritesRequest{Blobs: blobs})
			return refused(err, codes.Unimplemented)
		},
		"calls of other roles": func(ctx context.Context) error { return forbidden(ctx, conn, misstepv1.Role_ROLE_RUNNER) },
	})
	s.check(func(digest string) bool { return blobs.receipts[digest] != nil })
}

// TestHostileHunter holds a hunter's credential and tries to act as a runner or an admin, and to make others write where they
// should not.
func TestHostileHunter(t *testing.T) {
	s := besiege(t)
	conn := s.connect("hunter")
	admin, blobs, service := misstepv1.NewAdminServiceClient(conn), newWriter(conn), misstepv1.NewCorpusServiceClient(conn)
	out := t.TempDir()
	s.try(map[string]attack{
		"calls of other roles": func(ctx context.Context) error { return forbidden(ctx, conn, misstepv1.Role_ROLE_HUNTER) },
		"a report": func(ctx context.Context) error {
			l, _ := s.seen()
			h := quiet(of(nil))
			h.LeaseId = "L" + strings.TrimPrefix(l, "L")
			_, err := misstepv1.NewLeaseServiceClient(conn).Synchronize(ctx, &misstepv1.SynchronizeRequest{
				Runner: &misstepv1.Runner{Id: "r", Slots: 1}, Held: []*misstepv1.HeldLease{h},
			})
			return refused(err, codes.PermissionDenied)
		},
		"a tree that climbs": func(ctx context.Context) error {
			text := fmt.Sprintf("misstep-tree 1\nfile 3 %s ../climbed\n", s.jdk)
			d, _, err := blobs.Put(ctx, strings.NewReader(text), corpus.Digest{})
			if err != nil {
				return err
			}
			return refused(tree.Fetch(ctx, blobs, d, filepath.Join(out, "tree")))
		},
		"a garbled campaign": func(ctx context.Context) error {
			m := garble(s.submission(1))
			_ = conn.Invoke(ctx, misstepv1.AdminService_SubmitCampaign_FullMethodName, &m, &[]byte{}, grpc.ForceCodec(raw{}))
			return s.stopOwn(ctx, admin)
		},
		"a campaign of names that climb": func(ctx context.Context) error {
			r := s.submission(1)
			r.Campaign.Workloads[0].Name, r.Workloads[0].Name = "../../climbed", "../../climbed"
			if _, err := admin.SubmitCampaign(ctx, r); status.Code(err) == codes.Unavailable {
				return err
			}
			return s.stopOwn(ctx, admin)
		},
		"a campaign that is too large": func(ctx context.Context) error {
			r := s.submission(1)
			r.Jdks[0].Version = strings.Repeat("x", 5<<20)
			_, err := admin.SubmitCampaign(ctx, r)
			return refused(err, codes.InvalidArgument)
		},
		"a garbled entry of the index": func(ctx context.Context) error {
			_, err := service.AddEntry(ctx, &misstepv1.AddEntryRequest{Entry: string(garble(s.submission(1)))})
			return refused(err)
		},
		"digests that are none": func(ctx context.Context) error {
			for _, d := range []string{"", "../../etc/passwd", "sha256:" + strings.Repeat("0", 64), "sha256:" + strings.Repeat("A", 64)} {
				if _, err := service.FindMissing(ctx, &misstepv1.FindMissingRequest{Digests: []string{d}}); err == nil {
					return fmt.Errorf("%q is taken for a digest", d)
				}
			}
			return nil
		},
	})
	s.check(func(string) bool { return false })
}

// stopOwn stops what the hunter has submitted, so that the honest runner's work stays in one campaign.
func (s *siege) stopOwn(ctx context.Context, admin misstepv1.AdminServiceClient) error {
	all, err := admin.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	if err != nil {
		return err
	}
	for _, c := range all.GetCampaigns() {
		if c.GetId() != s.campaign && c.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			if _, err := admin.StopCampaign(ctx, &misstepv1.StopCampaignRequest{CampaignId: c.GetId()}); err != nil {
				return err
			}
		}
	}
	return nil
}
