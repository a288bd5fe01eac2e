package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"misstep/app/station"
	"misstep/corpus"
	"misstep/corpus/blob"
	"misstep/corpus/memory"
	"misstep/corpus/overlay"
	"misstep/corpus/remote"
	"misstep/corpus/tree"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// rig has the sources of one tree.
type rig struct {
	dir, from string
	manifest  tree.Manifest
	files     int
	sources   map[string]func() (corpus.Store, func(), error) // by way: one more connection
	closers   []func()
}

func newBench(ctx context.Context, dir, from string, m tree.Manifest) (*rig, error) {
	b := &rig{dir: dir, from: from, manifest: m, sources: map[string]func() (corpus.Store, func(), error){}}
	for e := range m.Entries() {
		if !e.Digest.IsZero() {
			b.files++
		}
	}
	catalogue := tree.Source(from, m)
	if err := b.serve("coordinator", remote.NewServer(overlay.New(memory.New(), catalogue))); err != nil {
		return nil, err
	}
	s3, stop, err := testenv.LaunchS3(filepath.Join(dir, "s3"))
	if err != nil {
		return nil, fmt.Errorf("no S3 server: %w; deploy/setup/install.sh test builds one", err)
	}
	b.closers = append(b.closers, stop)
	bucket, err := blob.Open(ctx, s3.Bucket, "trees",
		blob.Options{Endpoint: s3.Endpoint, Credentials: credentials.NewStaticV4(s3.AccessKey, s3.SecretKey, "")})
	if err != nil {
		return nil, err
	}
	if err := tree.Push(ctx, bucket, from, m); err != nil {
		return nil, err
	}
	return b, b.serve("bucket", remote.NewServer(bucket, remote.Signing(bucket)))
}

// serve serves a corpus over loopback.
func (b *rig) serve(way string, service misstepv1.CorpusServiceServer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	misstepv1.RegisterCorpusServiceServer(server, service)
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }() // until close
	b.closers = append(b.closers, server.Stop)
	b.sources[way] = func() (corpus.Store, func(), error) {
		connection, err := station.Connect(listener.Addr().String())
		if err != nil {
			return nil, nil, err
		}
		return remote.Client(connection), func() { _ = connection.Close() }, nil
	}
	return nil
}

func (b *rig) close() {
	for _, c := range b.closers {
		c()
	}
}

// measure repeats rounds of all ways and numbers of hosts until there is no time for another one.
func (b *rig) measure(ctx context.Context, until time.Time) (rates []rate, rounds int, err error) {
	for {
		began := time.Now()
		for _, n := range hosts {
			for _, way := range ways {
				mibs, err := b.once(ctx, way, n)
				if ctx.Err() != nil {
					return rates, rounds, nil
				}
				if err != nil {
					return nil, 0, fmt.Errorf("%s to %d hosts: %w", way, n, err)
				}
				rates = append(rates, rate{Way: way, Hosts: n, Round: rounds, MiBs: mibs})
			}
		}
		rounds++
		if time.Now().Add(time.Since(began)).After(until) {
			return rates, rounds, nil
		}
	}
}

// once brings the tree to n hosts at the same time. Each way ends with the bytes on the disk but loopback, which drops them.
func (b *rig) once(ctx context.Context, way string, n int) (mibs float64, err error) {
	dir := filepath.Join(b.dir, "hosts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := sync(dir); err != nil { // what earlier measurements left to be written
		return 0, err
	}
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error { return b.host(ctx, way, filepath.Join(dir, fmt.Sprint(i))) })
	}
	err = group.Wait()
	return float64(n) * float64(b.manifest.Size()) / (1 << 20) / time.Since(start).Seconds(), err
}

func (b *rig) host(ctx context.Context, way, dir string) error {
	switch way {
	case "disk":
		return b.disk(ctx, dir)
	case "loopback":
		return b.loopback(ctx)
	}
	source, done, err := b.sources[way]()
	if err != nil {
		return err
	}
	defer done()
	_, err = tree.Cache{Dir: dir}.Get(ctx, source, b.manifest.Digest())
	return err
}

// each calls f with each file of the tree.
func (b *rig) each(ctx context.Context, f func(i int, file *os.File) error) error {
	i := 0
	for e := range b.manifest.Entries() {
		if e.Digest.IsZero() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		file, err := os.Open(filepath.Join(b.from, filepath.FromSlash(e.Path)))
		if err != nil {
			return err
		}
		if err := errors.Join(f(i, file), file.Close()); err != nil {
			return err
		}
		i++
	}
	return nil
}

// disk writes the bytes of each file to a new file, through memory, and syncs once.
func (b *rig) disk(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	buffer := make([]byte, 1<<20)
	err := b.each(ctx, func(i int, file *os.File) error {
		to, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{file}, buffer)
		return errors.Join(err, to.Close())
	})
	return errors.Join(err, sync(dir))
}

// loopback sends the bytes of each file over one connection, through memory on both sides.
func (b *rig) loopback(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	sent := make(chan error, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			sent <- err
			return
		}
		buffer := make([]byte, 1<<20)
		err = b.each(ctx, func(_ int, file *os.File) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{connection}, struct{ io.Reader }{file}, buffer)
			return err
		})
		sent <- errors.Join(err, connection.Close())
	}()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{connection}, make([]byte, 1<<20))
	return errors.Join(err, connection.Close(), <-sent)
}

func sync(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(folder.Fd())), folder.Close())
}
