// Package remote serves a corpus over gRPC; each side verifies the bytes that it receives.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"golang.org/x/sync/singleflight"
	"golang.org/x/sys/unix"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/index"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	chunkSize = 1 << 20 // bytes of one message, the bound in corpus.proto

	sizeHeader = "misstep-blob-size" // response header of Read: the blob's bytes in decimal

	domain        = "misstep.corpus" // of the ErrorInfo details
	reasonDigest  = "DIGEST_MISMATCH"
	reasonSize    = "TOO_LARGE"
	reasonNoSpace = "NO_SPACE"
)

// MaxDigests is the greatest number of digests of one FindMissing, the bound in corpus.proto.
const MaxDigests = 10_000

// Option configures a server.
type Option func(*server)

// MaxBlob bounds the size in bytes of a blob that is written; the default is corpus.MaxBlob.
func MaxBlob(bytes int64) Option { return func(s *server) { s.maxBlob = bytes } }

// Admit decides whether an entry, whose blobs are in blobs, may be added to an index. The error is an *index.RefusedError when the
// entry is at fault, not the corpus.
type Admit func(ctx context.Context, blobs corpus.Source, e index.Entry) error

// Shared serves an index beside the blobs; admit is called for every entry before it is added.
func Shared(entries index.Index, admit Admit) Option {
	return func(s *server) { s.index, s.admit = entries, admit }
}

// Signing lets clients read and write the blobs of signer directly, which is the object store that blobs written to the server's
// store go to. Blobs that the store reads from elsewhere are copied there when they are first read.
func Signing(signer corpus.Signer) Option { return func(s *server) { s.signer = signer } }

type server struct {
	misstepv1.UnimplementedCorpusServiceServer
	store   corpus.Store
	signer  corpus.Signer // nil if clients have no access to the object store
	copying singleflight.Group
	chunks  chunkLists
	maxBlob int64
	index   index.Index // nil if none is served
	admit   Admit       // of entries of index
}

// NewServer serves store.
func NewServer(store corpus.Store, options ...Option) misstepv1.CorpusServiceServer {
	s := &server{store: store, maxBlob: corpus.MaxBlob}
	for _, option := range options {
		option(s)
	}
	return s
}

func (s *server) FindMissing(ctx context.Context, request *misstepv1.FindMissingRequest) (*misstepv1.FindMissingResponse, error) {
	if n := len(request.GetDigests()); n > MaxDigests {
		return nil, status.Errorf(codes.InvalidArgument, "find missing: %d digests, at most %d per call", n, MaxDigests)
	}
	digests, err := parseAll(request.GetDigests())
	if err != nil {
		return nil, err
	}
	missing, err := s.store.Missing(ctx, digests)
	if err != nil {
		return nil, toStatus(err)
	}
	response := &misstepv1.FindMissingResponse{}
	for _, d := range missing {
		response.Digests = append(response.Digests, d.String())
	}
	return response, nil
}

func (s *server) Read(request *misstepv1.ReadRequest, stream grpc.ServerStreamingServer[misstepv1.ReadResponse]) error {
	digest, err := parse(request.GetDigest())
	if err != nil {
		return err
	}
	blob, size, err := s.store.Open(stream.Context(), digest)
	if err != nil {
		return toStatus(err)
	}
	defer blob.Close()
	if err := stream.SendHeader(metadata.Pairs(sizeHeader, strconv.FormatInt(size, 10))); err != nil {
		return err
	}
	from, err := rangeOf(blob, request, size)
	if err != nil {
		return toStatus(err)
	}
	buffer := make([]byte, chunkSize)
	for {
		n, err := io.ReadFull(from, buffer)
		if n > 0 {
			if err := stream.Send(&misstepv1.ReadResponse{Data: buffer[:n]}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return toStatus(err)
		}
	}
}

func (s *server) Write(stream grpc.ClientStreamingServer[misstepv1.WriteRequest, misstepv1.WriteResponse]) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return status.Error(codes.InvalidArgument, "write: no message; the first one must name the digest")
	}
	if err != nil {
		return err
	}
	want, err := parse(first.GetDigest())
	if err != nil {
		return err
	}
	incoming := &chunks{receive: func() ([]byte, error) {
		if first != nil {
			data := first.GetData()
			first = nil
			return data, nil
		}
		message, err := stream.Recv()
		if err == nil && message.GetDigest() != "" {
			err = status.Error(codes.InvalidArgument, "write: a digest after the first message")
		}
		return message.GetData(), err
	}}
	_, size, err := s.store.Put(stream.Context(), &bounded{r: incoming, left: s.maxBlob}, want)
	if err != nil {
		return toStatus(err)
	}
	return stream.SendAndClose(&misstepv1.WriteResponse{Size: uint64(size)}) // not negative
}

func parse(text string) (corpus.Digest, error) {
	digest, err := corpus.ParseDigest(text)
	if err != nil {
		return corpus.Digest{}, status.Error(codes.InvalidArgument, err.Error())
	}
	return digest, nil
}

func parseAll(texts []string) ([]corpus.Digest, error) {
	digests := make([]corpus.Digest, len(texts))
	for i, text := range texts {
		var err error
		if digests[i], err = parse(text); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// discreetly is the text of an error without the folders of this machine: of a file it says its name only.
func discreetly(err error) string {
	return folders.ReplaceAllString(err.Error(), "$1")
}

// folders matches the folders of an absolute path, after what may come before one.
var folders = regexp.MustCompile(`(^|[\s"'` + "`" + `(=])/(?:[^\s/:"']+/)+`)

// toStatus converts a store's error to the code that corpus.proto specifies, with a reason that the client converts back. Clients
// do not learn where the store is.
func toStatus(err error) error {
	var mismatch *corpus.MismatchError
	switch {
	case errors.Is(err, corpus.ErrNotFound):
		return status.Error(codes.NotFound, discreetly(err))
	case errors.As(err, &mismatch):
		digests := map[string]string{"want": mismatch.Want.String(), "got": mismatch.Got.String()}
		return withReason(codes.InvalidArgument, err, reasonDigest, digests)
	case errors.Is(err, corpus.ErrUnavailable):
		return status.Error(codes.Unavailable, discreetly(err))
	case errors.Is(err, corpus.ErrTooLarge):
		return withReason(codes.InvalidArgument, err, reasonSize, nil)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return withReason(codes.ResourceExhausted, err, reasonNoSpace, nil)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	// A status that lies inside (a Recv that failed in the middle of a Put) keeps its code.
	var inner interface{ GRPCStatus() *status.Status }
	if errors.As(err, &inner) {
		return status.Error(inner.GRPCStatus().Code(), discreetly(err))
	}
	return status.Error(codes.Internal, discreetly(err))
}

func withReason(code codes.Code, err error, reason string, data map[string]string) error {
	s := status.New(code, discreetly(err))
	detailed, detailErr := s.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: domain, Metadata: data})
	if detailErr != nil {
		return s.Err()
	}
	return detailed.Err()
}

// chunks reads the bytes of a stream of messages.
type chunks struct {
	receive func() ([]byte, error) // io.EOF at the end
	data    []byte
	err     error
}

func (c *chunks) Read(p []byte) (int, error) {
	for len(c.data) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		if c.data, c.err = c.receive(); c.err == nil && len(c.data) > chunkSize {
			c.err = status.Errorf(codes.InvalidArgument, "a chunk of %d bytes, at most %d are allowed", len(c.data), chunkSize)
			c.data = nil
		}
	}
	n := copy(p, c.data)
	c.data = c.data[n:]
	return n, nil
}

func errTooLarge(size uint64) error {
	return fmt.Errorf("%d bytes are more than this server accepts: %w", size, corpus.ErrTooLarge)
}

// bounded fails with corpus.ErrTooLarge where io.LimitReader would truncate silently.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("more bytes than this server accepts: %w", corpus.ErrTooLarge)
	}
	return n, err
}
