package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/direct"
	misstepv1 "misstep/proto/misstep/v1"
)

// signsNot reports whether an error means that the server signs no requests of a kind, and remembers it.
func signsNot(streams *atomic.Bool, err error) bool {
	not := status.Code(err) == codes.Unimplemented
	if not {
		streams.Store(true)
	}
	return not
}

func (c *client) openDirect(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	r, size, err := c.http.Open(ctx, c.signRead(digest))
	if err != nil {
		return nil, 0, named("open remote blob "+digest.String(), err)
	}
	return corpus.VerifyReader(unavailable{r, "read remote blob " + digest.String()}, digest), size, nil
}

func (c *client) signRead(digest corpus.Digest) direct.Sign {
	return func(ctx context.Context) (corpus.SignedRequest, error) {
		response, err := c.service.SignReads(ctx, &misstepv1.SignReadsRequest{Digests: []string{digest.String()}})
		if err != nil {
			return corpus.SignedRequest{}, fromStatus("open remote blob "+digest.String(), err)
		}
		signed, err := only(response.GetRequests())
		if err == nil && signed.URL == "" {
			err = corpus.ErrNotFound
		}
		return signed, err
	}
}

func (c *client) putDirect(ctx context.Context, p *prepared) error {
	action := "put remote blob " + p.digest.String()
	sign := func(ctx context.Context) (corpus.SignedRequest, error) {
		response, err := c.service.SignWrites(ctx, &misstepv1.SignWritesRequest{
			Blobs: []*misstepv1.BlobSize{{Digest: p.digest.String(), Size: uint64(max(0, p.size))}},
		})
		if err != nil {
			return corpus.SignedRequest{}, fromStatus(action, err)
		}
		return only(response.GetRequests())
	}
	return named(action, c.http.Write(ctx, sign, io.NewSectionReader(p.data, p.start, p.size), p.size))
}

// named adds the action to an error that does not have it yet, and the code Unavailable to one of an object store that may work
// again later.
func named(action string, err error) error {
	if _, already := errors.AsType[*remoteError](err); already || err == nil {
		return err
	}
	if errors.Is(err, corpus.ErrUnavailable) {
		return &remoteError{action: action, status: status.New(codes.Unavailable, err.Error()), cause: err}
	}
	return fmt.Errorf("%s: %w", action, err)
}

// unavailable is a reader whose errors have the code Unavailable where the object store may work again later.
type unavailable struct {
	io.ReadCloser
	action string
}

func (u unavailable) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if errors.Is(err, corpus.ErrUnavailable) {
		err = named(u.action, err)
	}
	return n, err
}

func only(requests []*misstepv1.SignedRequest) (corpus.SignedRequest, error) {
	if len(requests) != 1 {
		return corpus.SignedRequest{}, fmt.Errorf("the server signs %d requests, not the one that it was asked for", len(requests))
	}
	r := requests[0]
	if r.GetSize() > corpus.MaxBlob {
		return corpus.SignedRequest{}, fmt.Errorf("%d bytes: %w", r.GetSize(), corpus.ErrTooLarge)
	}
	return corpus.SignedRequest{
		URL: r.GetUrl(), Headers: r.GetHeaders(), Expires: r.GetExpires().AsTime(), Size: int64(r.GetSize()),
	}, nil
}

// prepared is a blob whose digest and size are known before it is sent, and that can be sent again.
type prepared struct {
	data        io.ReaderAt
	start, size int64
	digest      corpus.Digest
	done        func()
}

// prepare digests r where it is if it can be read again, and otherwise copies it to a temporary file.
func prepare(ctx context.Context, r io.Reader, want corpus.Digest) (*prepared, error) {
	if at, ok := r.(interface {
		io.ReadSeeker
		io.ReaderAt
	}); ok {
		if start, err := at.Seek(0, io.SeekCurrent); err == nil { // fails for a pipe, which is an *os.File too
			digest, size, err := corpus.Receive(ctx, io.Discard, at, want, corpus.MaxBlob)
			if err != nil {
				return nil, err
			}
			return &prepared{data: at, start: start, size: size, digest: digest, done: func() {}}, nil
		}
	}
	file, err := os.CreateTemp("", "misstep-put-*")
	if err != nil {
		return nil, err
	}
	// The file is unlinked at once, so that its bytes are freed however this process ends.
	err = os.Remove(file.Name())
	p := &prepared{data: file, done: func() { _ = file.Close() }}
	if err == nil {
		p.digest, p.size, err = corpus.Receive(ctx, file, r, want, corpus.MaxBlob)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}
