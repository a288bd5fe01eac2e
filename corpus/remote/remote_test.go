package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/corpus/memory"
	"misstep/corpus/remote"
	"misstep/corpus/tree"
	misstepv1 "misstep/proto/misstep/v1"
)

// serve gives a connection to a server over memory.
func serve(t *testing.T, service misstepv1.CorpusServiceServer) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	misstepv1.RegisterCorpusServiceServer(server, service)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
	connection, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, connection.Close()) })
	return connection
}

func TestStore(t *testing.T) {
	corpustest.TestStore(t, func(t *testing.T) corpus.Store {
		return remote.Client(serve(t, remote.NewServer(memory.New())))
	})
}

func TestTheServerBoundsABlob(t *testing.T) {
	store := remote.Client(serve(t, remote.NewServer(memory.New(), remote.MaxBlob(3<<20))))
	for size, fits := range map[int]bool{3 << 20: true, 3<<20 + 1: false, 40 << 20: false} {
		data := corpustest.Blob(size, size)
		_, _, err := store.Put(t.Context(), bytes.NewReader(data), corpus.Digest{})
		if fits {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, corpus.ErrTooLarge)
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
		missing, err := store.Missing(t.Context(), []corpus.Digest{corpus.DigestBytes(data)})
		require.NoError(t, err)
		assert.Len(t, missing, 1)
	}
}

type fullStore struct{ corpus.Store }

func (fullStore) Put(context.Context, io.Reader, corpus.Digest) (corpus.Digest, int64, error) {
	return corpus.Digest{}, 0, &os.PathError{Op: "write", Path: "/blobs", Err: unix.ENOSPC}
}

func TestAFullDiskThereIsSaidHere(t *testing.T) {
	store := remote.Client(serve(t, remote.NewServer(fullStore{memory.New()})))
	_, _, err := store.Put(t.Context(), bytes.NewReader(corpustest.Blob(1, 3<<20)), corpus.Digest{})
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorIs(t, err, unix.ENOSPC)
	require.ErrorContains(t, err, "no space left on device")
}

// lyingServer gives bytes that do not have the digest, or breaks off.
type lyingServer struct {
	misstepv1.UnimplementedCorpusServiceServer
	answer func(grpc.ServerStreamingServer[misstepv1.ReadResponse]) error
}

func (l lyingServer) Read(_ *misstepv1.ReadRequest, stream grpc.ServerStreamingServer[misstepv1.ReadResponse]) error {
	if err := stream.SendHeader(map[string][]string{"misstep-blob-size": {"5"}}); err != nil {
		return err
	}
	return l.answer(stream)
}

func TestTheClientTrustsNoServer(t *testing.T) {
	want := corpus.DigestBytes([]byte("bytes"))
	read := func(answer func(grpc.ServerStreamingServer[misstepv1.ReadResponse]) error) error {
		_, err := corpus.ReadAll(t.Context(), remote.Client(serve(t, lyingServer{answer: answer})), want, 10<<20)
		return err
	}
	send := func(data []byte, then error) func(grpc.ServerStreamingServer[misstepv1.ReadResponse]) error {
		return func(stream grpc.ServerStreamingServer[misstepv1.ReadResponse]) error {
			return errors.Join(stream.Send(&misstepv1.ReadResponse{Data: data}), then)
		}
	}
	require.NoError(t, read(send([]byte("bytes"), nil)))
	var mismatch *corpus.MismatchError
	require.ErrorAs(t, read(send([]byte("byteS"), nil)), &mismatch)
	require.ErrorAs(t, read(send([]byte("byte"), nil)), &mismatch)
	require.ErrorContains(t, read(send(make([]byte, 1<<20+1), nil)), "at most 1048576")
	err := read(send([]byte("byt"), status.Error(codes.Unavailable, "going down")))
	assert.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "going down")
}

func TestTheServerRefusesBadRequests(t *testing.T) {
	service := misstepv1.NewCorpusServiceClient(serve(t, remote.NewServer(memory.New())))
	data := []byte("bytes")
	digest := corpus.DigestBytes(data).String()
	write := func(requests ...*misstepv1.WriteRequest) error {
		stream, err := service.Write(t.Context())
		require.NoError(t, err)
		for _, request := range requests {
			if err := stream.Send(request); err != nil {
				break // the answer tells why
			}
		}
		_, err = stream.CloseAndRecv()
		return err
	}
	for name, err := range map[string]error{
		"no message":        write(),
		"no digest":         write(&misstepv1.WriteRequest{Data: data}),
		"bad digest":        write(&misstepv1.WriteRequest{Digest: "sha256:12", Data: data}),
		"a second digest":   write(&misstepv1.WriteRequest{Digest: digest, Data: data[:1]}, &misstepv1.WriteRequest{Digest: digest, Data: data[1:]}),
		"too large a chunk": write(&misstepv1.WriteRequest{Digest: digest, Data: make([]byte, 1<<20+1)}),
		"read of bad digest": func() error {
			s, _ := service.Read(t.Context(), &misstepv1.ReadRequest{Digest: "x"})
			_, err := s.Recv()
			return err
		}(),
		"many digests": func() error {
			_, err := service.FindMissing(t.Context(), &misstepv1.FindMissingRequest{Digests: make([]string, 10_001)})
			return err
		}(),
		"find a bad digest": func() error {
			_, err := service.FindMissing(t.Context(), &misstepv1.FindMissingRequest{Digests: []string{"x"}})
			return err
		}(),
	} {
		assert.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", name, err)
	}
	require.NoError(
		t,
		write(&misstepv1.WriteRequest{Digest: digest}, &misstepv1.WriteRequest{Data: data}),
		"digest alone, then chunks",
	)
}

func TestATreeOverTheNetwork(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), corpustest.Blob(i, i<<20), 0o600))
	}
	m, err := tree.Scan(dir)
	require.NoError(t, err)
	store := remote.Client(serve(t, remote.NewServer(memory.New())))
	require.NoError(t, tree.Push(t.Context(), store, dir, m))
	dst := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, tree.Fetch(t.Context(), store, m.Digest(), dst))
	again, err := tree.Scan(dst)
	require.NoError(t, err)
	assert.Equal(t, m.Digest(), again.Digest())
}
