package custody_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"misstep/coordinator/access"
	"misstep/coordinator/custody"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/corpus"
	blobs "misstep/corpus/memory"
	"misstep/corpus/remote"
	"misstep/corpus/tree"
	misstepv1 "misstep/proto/misstep/v1"
)

// place is a corpus with a guard before it, which clients call under names.
type place struct {
	t        *testing.T
	blobs    corpus.Store
	leases   map[string][]*store.Lease // by owner
	asked    int
	receipts *custody.Receipts
	// unclaimed, 200 MiB a day
	unclaimed *custody.Unclaimed
	conn      *grpc.ClientConn
	now       time.Time
}

// nameKey carries the caller's name to the test's authenticator.
const nameKey = "name"

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, blobs: blobs.New(), leases: map[string][]*store.Lease{}, now: time.Unix(1_800_000_000, 0)}
	var err error
	p.receipts, err = custody.OpenReceipts(t.Context(), memory.New())
	require.NoError(t, err)
	p.unclaimed = custody.NewUnclaimed(200<<20, func() time.Time { return p.now })
	guard := custody.NewGuard(func(_ context.Context, owner string) ([]*store.Lease, error) {
		p.asked++
		return p.leases[owner], nil
	}, p.blobs, func() time.Time { return p.now }, p.unclaimed)
	server := grpc.NewServer(access.ServerOptions(access.Options{Authenticators: []access.Authenticator{
		func(ctx context.Context) (*access.Caller, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			role := misstepv1.Role_ROLE_RUNNER
			if md.Get(nameKey)[0] == "hunter" {
				role = misstepv1.Role_ROLE_HUNTER
			}
			return &access.Caller{Name: md.Get(nameKey)[0], Kind: access.Token, Grants: []access.Grant{{Role: role}}}, nil
		},
	}})...)
	misstepv1.RegisterCorpusServiceServer(server, custody.NewService(remote.NewServer(p.blobs), guard, p.receipts))
	pipe := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(pipe) }()
	t.Cleanup(server.Stop)
	p.conn, err = grpc.NewClient("passthrough:custody", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.conn.Close() })
	return p
}

// later lets enough time pass that the store may be asked again.
func (p *place) later() { p.now = p.now.Add(2 * time.Second) }

func (p *place) as(name string) context.Context {
	return metadata.AppendToOutgoingContext(p.t.Context(), nameKey, name)
}

func (p *place) put(text string) corpus.Digest {
	d, _, err := p.blobs.Put(p.t.Context(), bytes.NewReader([]byte(text)), corpus.Digest{})
	require.NoError(p.t, err)
	return d
}

// tree stores a folder with some files.
func (p *place) tree(name string, files int) corpus.Digest {
	dir := p.t.TempDir()
	for i := range files {
		require.NoError(p.t, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), []byte(fmt.Sprint(name, i)), 0o644))
	}
	m, err := tree.Scan(dir)
	require.NoError(p.t, err)
	require.NoError(p.t, tree.Push(p.t.Context(), p.blobs, dir, m))
	return m.Digest()
}

func lease(id string, jdk, workload corpus.Digest) *store.Lease {
	return &store.Lease{ID: id, Recipe: &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Digest: jdk.String()}, Workload: &misstepv1.Workload{Digest: workload.String()},
		Limits: &misstepv1.Limits{DiskMib: 1, OutputMib: 1},
	}}
}

// A runner reads the trees that its leases need, whole, and as long as it holds them.
func TestARunnerReadsWhatItsLeasesNeed(t *testing.T) {
	p := newPlace(t)
	jdk, workload, other := p.tree("jdk", 5), p.tree("workload", 2), p.tree("other", 3)
	p.leases["a"] = []*store.Lease{lease("L1", jdk, workload)}
	read := func(d corpus.Digest) error {
		return tree.Fetch(p.as("a"), remote.Client(p.conn), d, filepath.Join(t.TempDir(), "x"))
	}
	require.NoError(t, read(jdk))
	require.NoError(t, read(workload))
	assert.Equal(t, 1, p.asked, "one question serves all reads")
	require.ErrorIs(t, read(other), corpus.ErrNotFound)
	require.NoError(t, tree.Fetch(p.as("hunter"), remote.Client(p.conn), other, filepath.Join(t.TempDir(), "x")))

	p.leases["a"] = nil
	p.now = p.now.Add(time.Hour)
	require.ErrorIs(t, read(jdk), corpus.ErrNotFound, "the lease has ended")
}

// No call tells a runner whether a blob exists that none of its leases needs.
func TestOthersBlobsAreAsIfTheyWereNotThere(t *testing.T) {
	p := newPlace(t)
	jdk := p.tree("jdk", 1)
	there, nowhere := p.put("evidence of another runner"), corpus.DigestBytes([]byte("nothing"))
	p.leases["a"] = []*store.Lease{lease("L1", jdk, jdk)}
	service := misstepv1.NewCorpusServiceClient(p.conn)
	answers := func(d corpus.Digest) []string {
		p.later()
		missing, err := service.FindMissing(p.as("a"), &misstepv1.FindMissingRequest{Digests: []string{jdk.String(), d.String()}})
		require.NoError(t, err)
		require.Equal(t, []string{d.String()}, missing.GetDigests())
		p.later()
		stream, err := service.Read(p.as("a"), &misstepv1.ReadRequest{Digest: d.String()})
		require.NoError(t, err)
		_, readErr := stream.Recv()
		p.later()
		_, chunksErr := service.ListChunks(p.as("a"), &misstepv1.ListChunksRequest{Digest: d.String()})
		_, signErr := service.SignWrites(p.as("a"), &misstepv1.SignWritesRequest{
			Blobs: []*misstepv1.BlobSize{{Digest: d.String(), Size: 1}},
		})
		var all []string
		for _, err := range []error{readErr, chunksErr, signErr} {
			require.Error(t, err)
			s := status.Convert(err)
			alike := s.Message() == fmt.Sprintf("blob %s: not stored, or no lease of this runner needs it", d)
			all = append(all, fmt.Sprintf("%v %v", s.Code(), alike))
		}
		return all
	}
	assert.Equal(t, answers(nowhere), answers(there))
	assert.Equal(t, []string{"NotFound true", "NotFound true", "Unimplemented false"}, answers(there))
}

// A blob that a lease needs and that is not stored has the same answer as one that no lease needs.
func TestAMissingTreeIsAnsweredAlike(t *testing.T) {
	p := newPlace(t)
	gone := corpus.DigestBytes([]byte("gone"))
	p.leases["a"] = []*store.Lease{lease("L1", gone, gone)}
	_, _, err := remote.Client(p.conn).Open(p.as("a"), gone)
	require.ErrorIs(t, err, corpus.ErrNotFound)
	assert.ErrorContains(t, err, "not stored, or no lease of this runner needs it")
}

// Evidence is written while leases are held, within their limits, and only what was written whole has a receipt.
func TestARunnerWritesWithinItsLeases(t *testing.T) {
	p := newPlace(t)
	receipts := map[corpus.Digest][]byte{}
	client := remote.Client(p.conn, remote.WithReceipts(func(d corpus.Digest, r []byte) { receipts[d] = r }))
	write := func(data []byte) (corpus.Digest, error) {
		p.later()
		d, _, err := client.Put(p.as("a"), bytes.NewReader(data), corpus.Digest{})
		return d, err
	}
	_, err := write([]byte("x"))
	require.Equal(t, codes.FailedPrecondition, status.Code(err), "it holds no lease: %v", err)

	root := p.tree("jdk", 1)
	p.leases["a"] = []*store.Lease{lease("L1", root, root)} // allows 1 + 2 + 128 MiB
	d, err := write([]byte("x"))
	require.NoError(t, err)
	e := &misstepv1.Evidence{Name: "x", Digest: d.String(), Size: 1, Receipt: receipts[d]}
	require.NoError(t, p.receipts.Check("a", []*misstepv1.Evidence{e}))
	require.ErrorContains(t, p.receipts.Check("b", []*misstepv1.Evidence{e}), "no receipt", "it is another owner's")
	e.Size = 2
	require.ErrorContains(t, p.receipts.Check("a", []*misstepv1.Evidence{e}), "no receipt")

	for range 4 {
		_, err = write(make([]byte, 32<<20))
	}
	require.NoError(t, err)
	big := bytes.Repeat([]byte{1}, 32<<20)
	_, err = write(big)
	require.Equal(t, codes.FailedPrecondition, status.Code(err), "%v", err)
	assert.NotContains(t, receipts, corpus.DigestBytes(big))
	missing, err := p.blobs.Missing(t.Context(), []corpus.Digest{corpus.DigestBytes(big)})
	require.NoError(t, err)
	assert.Len(t, missing, 1, "it was not stored")

	p.leases["a"] = append(p.leases["a"], lease("L2", root, root))
	_, err = write(big)
	require.NoError(t, err, "another lease allows more")
}

// Whoever writes and reports nothing gets no further on a day, whatever new leases allow; what outcomes name does not count.
func TestUnclaimedEvidenceIsBoundedByDay(t *testing.T) {
	p := newPlace(t)
	root, client := p.tree("jdk", 1), remote.Client(p.conn)
	leases := 0
	write := func(owner string) error { // 100 MiB, under a lease that has just been granted
		p.later()
		leases++
		p.leases[owner] = []*store.Lease{lease(fmt.Sprint("L", leases), root, root)}
		_, _, err := client.Put(p.as(owner), bytes.NewReader(bytes.Repeat([]byte{byte(leases)}, 100<<20)), corpus.Digest{})
		return err
	}
	require.NoError(t, write("a"))
	require.NoError(t, write("a"))
	err := write("a")
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.ErrorContains(t, err, "200 MiB of the 200 MiB of evidence that an owner may write on a day")
	require.ErrorContains(t, err, "counted anew at "+p.now.UTC().AddDate(0, 0, 1).Format("2006-01-02")+" 00:00 UTC")
	require.NoError(t, write("b"), "another owner's is its own")

	p.unclaimed.Claim("a", []*misstepv1.Evidence{{Size: 60 << 20}, {Size: 40 << 20}})
	require.NoError(t, write("a"), "an outcome named as much")
	require.Error(t, write("a"))
	p.now = p.now.Add(24 * time.Hour)
	require.NoError(t, write("a"), "on the next day")
	p.unclaimed.Claim("a", []*misstepv1.Evidence{{Size: 1 << 40}})
	require.NoError(t, write("a"))
	require.NoError(t, write("a"))
	require.Error(t, write("a"), "nobody has a credit")
}

func TestTheNumberOfBlobsIsBounded(t *testing.T) {
	p := newPlace(t)
	root := p.tree("jdk", 1)
	p.leases["a"] = []*store.Lease{lease("L1", root, root)}
	client, written := remote.Client(p.conn), 0
	for i := range 300 {
		p.later()
		if _, _, err := client.Put(p.as("a"), bytes.NewReader([]byte(fmt.Sprint(i))), corpus.Digest{}); err != nil {
			require.Equal(t, codes.FailedPrecondition, status.Code(err), "%v", err)
			break
		}
		written++
	}
	assert.Equal(t, 256, written)
}

// However often a runner asks for what it may not read, the store is asked once a second at most.
func TestQuestionsToTheStoreAreRare(t *testing.T) {
	p := newPlace(t)
	nowhere := corpus.DigestBytes([]byte("nothing"))
	ctx, cancel := context.WithTimeout(p.as("a"), 2500*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		_, _, _ = remote.Client(p.conn).Open(ctx, nowhere)
	}
	assert.LessOrEqual(t, p.asked, 4)
}

// Coordinators on one store check each other's receipts; those of another store are worth nothing.
func TestReceiptsBelongToAStore(t *testing.T) {
	s := memory.New()
	a, err := custody.OpenReceipts(t.Context(), s)
	require.NoError(t, err)
	b, err := custody.OpenReceipts(t.Context(), s)
	require.NoError(t, err)
	other, err := custody.OpenReceipts(t.Context(), memory.New())
	require.NoError(t, err)
	assert.Equal(t, a.Of("o", "d", 1), b.Of("o", "d", 1))
	assert.NotEqual(t, a.Of("o", "d", 1), other.Of("o", "d", 1))
	assert.NotEqual(t, a.Of("od", "", 1), a.Of("o", "d", 1), "the parts are told apart")
}
