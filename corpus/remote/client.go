package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/direct"
	misstepv1 "misstep/proto/misstep/v1"
)

type client struct {
	service misstepv1.CorpusServiceClient
	http    direct.Client
	// reads and writes are true once the server has said that it signs no requests for them: blobs go through it.
	reads, writes atomic.Bool
	// wrote is called with the server's receipt for each blob that was written through it; nil is not.
	wrote func(digest corpus.Digest, receipt []byte)
}

// Client returns the corpus at the other end of connection. Where the server signs requests, the blobs themselves go straight
// between this process and the object store. Put copies a reader that cannot seek to a temporary file if its digest or size is
// needed first and unknown.
func Client(connection grpc.ClientConnInterface, options ...ClientOption) corpus.Store {
	c := &client{service: misstepv1.NewCorpusServiceClient(connection)}
	for _, option := range options {
		option(c)
	}
	return c
}

// ClientOption configures a client.
type ClientOption func(*client)

// WithReceipts calls wrote with the server's receipt for each blob that is written through it, from any goroutine.
func WithReceipts(wrote func(digest corpus.Digest, receipt []byte)) ClientOption {
	return func(c *client) { c.wrote = wrote }
}

// WithHTTP makes signed requests with h; the default is the zero direct.Client.
func WithHTTP(h direct.Client) ClientOption { return func(c *client) { c.http = h } }

func (c *client) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var missing []corpus.Digest
	for len(digests) > 0 {
		n := min(len(digests), MaxDigests)
		request := &misstepv1.FindMissingRequest{Digests: make([]string, n)}
		for i, d := range digests[:n] {
			request.Digests[i] = d.String()
		}
		digests = digests[n:]
		response, err := c.service.FindMissing(ctx, request)
		if err != nil {
			return nil, fromStatus("find missing blobs", err)
		}
		for _, text := range response.GetDigests() {
			d, err := corpus.ParseDigest(text)
			if err != nil {
				return nil, fmt.Errorf("find missing blobs: response: %w", err)
			}
			missing = append(missing, d)
		}
	}
	return missing, nil
}

func (c *client) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	if !c.reads.Load() {
		r, size, err := c.openDirect(ctx, digest)
		if !signsNot(&c.reads, err) {
			return r, size, err
		}
	}
	r, size, err := c.stream(ctx, &misstepv1.ReadRequest{Digest: digest.String()})
	if err != nil {
		return nil, 0, err
	}
	return corpus.VerifyReader(r, digest), size, nil
}

// stream reads a blob, or a range of it, through the server. It returns the size of the whole blob.
func (c *client) stream(ctx context.Context, request *misstepv1.ReadRequest) (io.ReadCloser, int64, error) {
	action := "open remote blob " + request.GetDigest()
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.service.Read(ctx, request)
	if err != nil {
		cancel()
		return nil, 0, fromStatus(action, err)
	}
	header, err := stream.Header()
	if err != nil {
		cancel()
		return nil, 0, fromStatus(action, err)
	}
	sizes := header.Get(sizeHeader)
	if len(sizes) != 1 {
		// Without a header the call has failed; receiving the first message returns the error.
		_, err := stream.Recv()
		cancel()
		if err == nil {
			err = status.Error(codes.Internal, "the server did not send the size")
		}
		return nil, 0, fromStatus(action, err)
	}
	size, err := strconv.ParseInt(sizes[0], 10, 64)
	if err != nil {
		cancel()
		return nil, 0, fmt.Errorf("%s: size: %w", action, err)
	}
	incoming := &chunks{receive: func() ([]byte, error) {
		message, err := stream.Recv()
		if err != nil && !errors.Is(err, io.EOF) {
			err = fromStatus("read remote blob "+request.GetDigest(), err)
		}
		return message.GetData(), err
	}}
	return &blob{Reader: incoming, cancel: cancel}, size, nil
}

type blob struct {
	io.Reader
	cancel context.CancelFunc
}

func (b *blob) Close() error {
	b.cancel()
	return nil
}

func (c *client) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	if err := ctx.Err(); err != nil {
		return corpus.Digest{}, 0, err
	}
	if c.writes.Load() && !want.IsZero() {
		size, err := c.write(ctx, r, want)
		if err != nil {
			return corpus.Digest{}, 0, err
		}
		return want, size, nil
	}
	p, err := prepare(ctx, r, want)
	if err != nil {
		return corpus.Digest{}, 0, fmt.Errorf("put remote blob: %w", err)
	}
	defer p.done()
	if !c.writes.Load() {
		err := c.putDirect(ctx, p)
		if err == nil {
			return p.digest, p.size, nil
		}
		if !signsNot(&c.writes, err) && !errors.Is(err, direct.ErrContradiction) { // the server may overwrite it
			return corpus.Digest{}, 0, err
		}
	}
	if _, err := c.write(ctx, io.NewSectionReader(p.data, p.start, p.size), p.digest); err != nil {
		return corpus.Digest{}, 0, err
	}
	return p.digest, p.size, nil
}

func (c *client) write(ctx context.Context, r io.Reader, want corpus.Digest) (int64, error) {
	action := "put remote blob " + want.String()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends an unfinished call, so that the server stores nothing
	stream, err := c.service.Write(ctx)
	if err != nil {
		return 0, fromStatus(action, err)
	}
	hasher := corpus.NewHasher()
	buffer := make([]byte, chunkSize)
	for first := true; ; first = false {
		n, readErr := io.ReadFull(r, buffer)
		_, _ = hasher.Write(buffer[:n])
		last := errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF)
		if readErr != nil && !last {
			return 0, fmt.Errorf("%s: %w", action, readErr)
		}
		if first || n > 0 {
			request := &misstepv1.WriteRequest{Data: buffer[:n]}
			if first {
				request.Digest = want.String()
			}
			// io.EOF: the server has already ended the call; CloseAndRecv returns why.
			if err := stream.Send(request); err != nil && !errors.Is(err, io.EOF) {
				return 0, fromStatus(action, err)
			} else if err != nil {
				last = true
			}
		}
		if last {
			break
		}
	}
	response, err := stream.CloseAndRecv()
	if err != nil {
		return 0, fromStatus(action, err)
	}
	if stored := response.GetSize(); stored != uint64(hasher.Size()) { // not negative
		return 0, fmt.Errorf("%s: the server reports %d bytes stored of %d", action, stored, hasher.Size())
	}
	if c.wrote != nil && len(response.GetReceipt()) > 0 {
		c.wrote(want, response.GetReceipt())
	}
	return hasher.Size(), nil
}

// fromStatus converts a code and its reason to the errors of package corpus; the gRPC code remains available.
func fromStatus(action string, err error) error {
	s, _ := status.FromError(err)
	cause := err
	switch s.Code() {
	case codes.NotFound:
		cause = corpus.ErrNotFound
	case codes.Canceled:
		cause = context.Canceled
	case codes.DeadlineExceeded:
		cause = context.DeadlineExceeded
	}
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != domain {
			continue
		}
		switch info.GetReason() {
		case reasonSize:
			cause = corpus.ErrTooLarge
		case reasonNoSpace:
			cause = unix.ENOSPC
		case reasonDigest:
			want, wantErr := corpus.ParseDigest(info.GetMetadata()["want"])
			got, gotErr := corpus.ParseDigest(info.GetMetadata()["got"])
			if wantErr == nil && gotErr == nil {
				cause = &corpus.MismatchError{Want: want, Got: got}
			}
		}
	}
	return &remoteError{action: action, status: s, cause: cause}
}

// remoteError is an error of package corpus that was received over the network.
type remoteError struct {
	action string
	status *status.Status
	cause  error
}

func (e *remoteError) Error() string { return e.action + ": " + e.status.Message() }

func (e *remoteError) Unwrap() error { return e.cause }

func (e *remoteError) GRPCStatus() *status.Status { return e.status }
