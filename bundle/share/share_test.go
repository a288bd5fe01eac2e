package share_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"misstep/bundle"
	"misstep/bundle/share"
	"misstep/corpus"
	"misstep/corpus/blob"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	"misstep/corpus/remote"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

func folder(t *testing.T) index.Corpus {
	t.Helper()
	dir := t.TempDir()
	store, err := localdir.New(dir)
	require.NoError(t, err)
	return index.Corpus{Store: store, Index: index.Folder(dir)}
}

// coordinatorLike serves a folder over gRPC.
func coordinatorLike(t *testing.T, policy share.Policy) index.Corpus {
	t.Helper()
	behind := folder(t)
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	misstepv1.RegisterCorpusServiceServer(server, remote.NewServer(behind.Store, remote.Shared(behind.Index, policy.Check)))
	go func() { _ = server.Serve(listener) }() // ends with ErrServerStopped
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, connection.Close()) })
	return index.Corpus{Store: remote.Client(connection), Index: remote.Index(connection)}
}

func bucket(t *testing.T) index.Corpus {
	t.Helper()
	s := testenv.StartS3(t)
	store, err := blob.Open(
		t.Context(),
		s.Bucket,
		"shared",
		blob.Options{Endpoint: s.Endpoint, Credentials: credentials.NewStaticV4(s.AccessKey, s.SecretKey, "")},
	)
	require.NoError(t, err)
	return index.Corpus{Store: store, Index: index.Objects(store)}
}

// bundles makes small bundles of several findings and returns their files.
func bundles(t *testing.T, findings ...string) []string {
	t.Helper()
	dir, empty := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(empty, "x"), []byte("x"), 0o600))
	var files []string
	for _, id := range findings {
		file := filepath.Join(dir, id+".zip")
		f, err := os.Create(file)
		require.NoError(t, err)
		require.NoError(t, bundle.Write(t.Context(), f, bundle.Contents{
			Reproducer: &misstepv1.Reproducer{
				Finding: &misstepv1.Finding{
					Id:        id,
					Signature: &misstepv1.Signature{Kind: "hang"},
				}, Recipe: &misstepv1.Recipe{Seed: uint64(len(id))},
			},
			Workload: empty, Agent: empty,
		}))
		require.NoError(t, f.Close())
		files = append(files, file)
	}
	return files
}

func filled(t *testing.T, findings ...string) index.Corpus {
	t.Helper()
	c := folder(t)
	for _, file := range bundles(t, findings...) {
		_, added, err := share.Import(t.Context(), c, file, share.Policy{})
		require.NoError(t, err)
		require.True(t, added)
		_, added, err = share.Import(t.Context(), c, file, share.Policy{})
		require.NoError(t, err)
		require.False(t, added, "again is harmless")
	}
	return c
}

func ids(t *testing.T, c index.Corpus) []string {
	t.Helper()
	entries, err := c.Entries(t.Context())
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Finding)
	}
	slices.Sort(all)
	return all
}

// TestBothWays brings two corpora together by way of each kind of corpus: afterwards each has all, and nothing is left to send.
func TestBothWays(t *testing.T) {
	for name, open := range map[string]func(*testing.T) index.Corpus{
		"folder":      folder,
		"coordinator": func(t *testing.T) index.Corpus { return coordinatorLike(t, share.Policy{}) },
		"S3":          bucket,
	} {
		t.Run(name, func(t *testing.T) {
			a, b, middle := filled(t, "Fa1", "Fa2", "Fab"), filled(t, "Fb1", "Fab"), open(t)
			for _, way := range [][2]index.Corpus{{a, middle}, {b, middle}, {middle, a}, {middle, b}} {
				_, err := share.Sync(t.Context(), way[0], way[1], share.Policy{}, nil)
				require.NoError(t, err)
			}
			all := []string{"Fa1", "Fa2", "Fab", "Fb1"}
			for _, c := range []index.Corpus{a, b, middle} {
				assert.Equal(t, all, ids(t, c))
			}
			for _, way := range [][2]index.Corpus{{a, middle}, {middle, a}, {b, middle}, {middle, b}, {a, b}} {
				report, err := share.Sync(t.Context(), way[0], way[1], share.Policy{}, nil)
				require.NoError(t, err)
				assert.Empty(t, report.Sent)
				assert.Len(t, report.Present, 4)
				assert.Zero(t, report.Blobs)
			}
		})
	}
}

// failing breaks off after some blobs.
type failing struct {
	corpus.Store
	left int
}

var errCut = errors.New("cut off")

func (f *failing) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	if f.left--; f.left < 0 {
		r = io.MultiReader(io.LimitReader(r, 100), &broken{})
	}
	return f.Store.Put(ctx, r, want)
}

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, errCut }

func TestAnInterruptedSyncGoesOn(t *testing.T) {
	from, to := filled(t, "F1", "F2", "F3", "F4"), folder(t)
	cut := index.Corpus{Store: &failing{Store: to.Store, left: 2}, Index: to.Index}
	report, err := share.Sync(t.Context(), from, cut, share.Policy{}, nil)
	require.ErrorIs(t, err, errCut)
	assert.Len(t, report.Sent, 2)
	assert.Len(t, ids(t, to), 2, "no entry whose bundle is not there")
	report, err = share.Sync(t.Context(), from, to, share.Policy{}, nil)
	require.NoError(t, err)
	assert.Equal(t, 2, report.Blobs)
	assert.Len(t, ids(t, to), 4)
}

// TestBlobsWithoutTheirEntry: interrupted between the last blob and the entry, no blob is sent again.
func TestBlobsWithoutTheirEntry(t *testing.T) {
	from, to := filled(t, "F1"), folder(t)
	entries, err := from.Entries(t.Context())
	require.NoError(t, err)
	r, _, err := from.Open(t.Context(), entries[0].Bundle.Digest)
	require.NoError(t, err)
	_, _, err = to.Put(t.Context(), r, entries[0].Bundle.Digest)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	report, err := share.Sync(t.Context(), from, to, share.Policy{}, nil)
	require.NoError(t, err)
	assert.Zero(t, report.Blobs)
	assert.Len(t, report.Sent, 1)
}

func TestBadEntriesAreRefusedAndTheOthersGo(t *testing.T) {
	from := filled(t, "F1", "F2")
	noBundle, size, err := from.Put(t.Context(), strings.NewReader("no bundle"), corpus.Digest{})
	require.NoError(t, err)
	entries, err := from.Entries(t.Context())
	require.NoError(t, err)
	for _, e := range []index.Entry{
		{Finding: "F3", Bundle: index.Blob{Digest: noBundle, Size: size}},
		{Finding: "F4", Bundle: index.Blob{Digest: corpus.DigestBytes([]byte("gone")), Size: 4}},
		{Finding: "F5", Bundle: entries[0].Bundle}, // another finding's
	} {
		require.NoError(t, from.Add(t.Context(), e))
	}
	to := folder(t)
	report, err := share.Sync(t.Context(), from, to, share.Policy{}, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"F1", "F2"}, ids(t, to))
	require.Len(t, report.Refused, 3)
	for i, want := range []string{"not a bundle", "not found", "the entry says finding F5"} {
		require.ErrorContains(t, report.Refused[i].Err, want)
	}
	// A server checks by itself.
	served := coordinatorLike(t, share.Policy{})
	_, _, err = served.Put(t.Context(), strings.NewReader("no bundle"), noBundle)
	require.NoError(t, err)
	require.ErrorContains(
		t,
		served.Add(t.Context(), index.Entry{Finding: "F3", Bundle: index.Blob{Digest: noBundle, Size: size}}),
		"not a bundle",
	)
	assert.Empty(t, ids(t, served))
}

func TestSignaturesDecide(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen here; install openssh-client")
	}
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "key")
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keyFile).CombinedOutput()
	require.NoError(t, err, string(out))
	public, err := os.ReadFile(keyFile + ".pub")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "trusted"), append([]byte("jane "), public...), 0o600))
	signers, err := bundle.LoadSigners(filepath.Join(dir, "trusted"))
	require.NoError(t, err)
	key, err := bundle.LoadKey(keyFile)
	require.NoError(t, err)
	policy := share.Policy{Signers: signers}

	files := bundles(t, "F1", "F2", "F3")
	sign := func(file, over string) {
		text, err := os.ReadFile(over)
		require.NoError(t, err)
		signature, err := bundle.Sign(strings.NewReader(string(text)), key)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file+bundle.SignatureSuffix, signature, 0o600))
	}
	sign(files[0], files[0])
	sign(files[1], files[0]) // another's signature
	from := folder(t)
	for i, want := range []string{"", "does not fit", "not signed"} {
		_, _, err := share.Import(t.Context(), folder(t), files[i], policy)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
		_, _, err = share.Import(t.Context(), from, files[i], share.Policy{})
		require.NoError(t, err)
	}
	to := folder(t)
	report, err := share.Sync(t.Context(), from, to, policy, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"F1"}, ids(t, to))
	assert.Len(t, report.Refused, 2)
	entries, err := to.Entries(t.Context())
	require.NoError(t, err)
	_, err = corpus.ReadAll(t.Context(), to, entries[0].Signature.Digest, bundle.MaxSignature)
	require.NoError(t, err, "the signature comes along")

	// A coordinator's own policy holds whatever the sender's is.
	served := coordinatorLike(t, policy)
	report, err = share.Sync(t.Context(), from, served, share.Policy{}, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"F1"}, ids(t, served))
	assert.Len(t, report.Refused, 2)
}

// An index names a bundle by the id that its finding had when it was written, so that programs of both versions read one index.
func TestABundleOfVersion0(t *testing.T) {
	from, to := folder(t), folder(t)
	entry, added, err := share.Import(t.Context(), from, "../testdata/version0.zip", share.Policy{})
	require.NoError(t, err)
	require.True(t, added)
	require.Equal(t, "F313247774e0d", entry.Finding)
	report, err := share.Sync(t.Context(), from, to, share.Policy{}, nil)
	require.NoError(t, err)
	require.Empty(t, report.Refused)
	require.Equal(t, []string{"F313247774e0d"}, ids(t, to))
}
