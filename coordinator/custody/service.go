package custody

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	"misstep/corpus"
	"misstep/corpus/remote"
	misstepv1 "misstep/proto/misstep/v1"
)

// Service is a corpus for runners that are not trusted with everything; whoever may read or write any blob does so in next.
type Service struct {
	misstepv1.CorpusServiceServer // next
	guard                         *Guard
	receipts                      *Receipts
}

// NewService puts a guard before a corpus.
func NewService(next misstepv1.CorpusServiceServer, guard *Guard, receipts *Receipts) *Service {
	return &Service{next, guard, receipts}
}

// errNone is the answer for a blob that is not stored, as well as for one that is none of the caller's business.
func errNone(digest string) error {
	return status.Errorf(codes.NotFound, "blob %s: not stored, or no lease of this runner needs it", digest)
}

// alike gives an absent blob the answer that a forbidden one has.
func alike(err error, digest string) error {
	if status.Code(err) == codes.NotFound {
		return errNone(digest)
	}
	return err
}

// reads returns the blobs of a request that the caller may read, by digest.
func (s *Service) reads(ctx context.Context, texts ...string) (map[string]bool, error) {
	digests := make([]corpus.Digest, len(texts))
	for i, text := range texts {
		var err error
		if digests[i], err = corpus.ParseDigest(text); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
	}
	found, err := s.guard.ReadsOf(ctx, access.From(ctx).Name, digests)
	if err != nil {
		return nil, unavailable(err)
	}
	all := make(map[string]bool, len(found))
	for _, d := range found {
		all[d.String()] = true
	}
	return all, nil
}

// unavailable is the answer while it cannot be found out what a caller may do: it may call again.
func unavailable(err error) error {
	return store.Status(fmt.Errorf("find out which leases the runner holds: %w", err))
}

// FindMissing implements CorpusService: what the caller may not read is missing.
func (s *Service) FindMissing(
	ctx context.Context, request *misstepv1.FindMissingRequest,
) (*misstepv1.FindMissingResponse, error) {
	if MayRead(ctx) {
		return s.CorpusServiceServer.FindMissing(ctx, request)
	}
	if len(request.GetDigests()) > remote.MaxDigests {
		return nil, status.Errorf(codes.InvalidArgument, "find missing: at most %d digests per call", remote.MaxDigests)
	}
	may, err := s.reads(ctx, request.GetDigests()...)
	if err != nil {
		return nil, err
	}
	asked := &misstepv1.FindMissingRequest{}
	for _, d := range request.GetDigests() {
		if may[d] {
			asked.Digests = append(asked.Digests, d)
		}
	}
	known, err := s.CorpusServiceServer.FindMissing(ctx, asked)
	if err != nil {
		return nil, err
	}
	for _, d := range known.GetDigests() {
		delete(may, d)
	}
	missing := &misstepv1.FindMissingResponse{}
	for _, d := range request.GetDigests() {
		if !may[d] {
			missing.Digests = append(missing.Digests, d)
		}
	}
	return missing, nil
}

// Read implements CorpusService.
func (s *Service) Read(request *misstepv1.ReadRequest, stream grpc.ServerStreamingServer[misstepv1.ReadResponse]) error {
	if MayRead(stream.Context()) {
		return s.CorpusServiceServer.Read(request, stream)
	}
	may, err := s.reads(stream.Context(), request.GetDigest())
	if err != nil {
		return err
	}
	if !may[request.GetDigest()] {
		return errNone(request.GetDigest())
	}
	return alike(s.CorpusServiceServer.Read(request, stream), request.GetDigest())
}

// ListChunks implements CorpusService.
func (s *Service) ListChunks(ctx context.Context, request *misstepv1.ListChunksRequest) (*misstepv1.ListChunksResponse, error) {
	if !MayRead(ctx) {
		may, err := s.reads(ctx, request.GetDigest())
		if err != nil {
			return nil, err
		}
		if !may[request.GetDigest()] {
			return nil, errNone(request.GetDigest())
		}
	}
	response, err := s.CorpusServiceServer.ListChunks(ctx, request)
	if err != nil && !MayRead(ctx) {
		err = alike(err, request.GetDigest())
	}
	return response, err
}

// SignReads implements CorpusService: there is no request for what the caller may not read.
func (s *Service) SignReads(ctx context.Context, request *misstepv1.SignReadsRequest) (*misstepv1.SignReadsResponse, error) {
	if MayRead(ctx) {
		return s.CorpusServiceServer.SignReads(ctx, request)
	}
	if len(request.GetDigests()) > remote.MaxDigests {
		return nil, status.Errorf(codes.InvalidArgument, "sign reads: at most %d digests per call", remote.MaxDigests)
	}
	may, err := s.reads(ctx, request.GetDigests()...)
	if err != nil {
		return nil, err
	}
	asked := &misstepv1.SignReadsRequest{}
	for _, d := range request.GetDigests() {
		if may[d] {
			asked.Digests = append(asked.Digests, d)
		}
	}
	signed, err := s.CorpusServiceServer.SignReads(ctx, asked)
	if err != nil {
		return nil, err
	}
	if len(signed.GetRequests()) != len(asked.GetDigests()) {
		return nil, status.Error(codes.Internal, "sign reads: not as many requests as digests")
	}
	response, next := &misstepv1.SignReadsResponse{}, 0
	for _, d := range request.GetDigests() {
		one := &misstepv1.SignedRequest{}
		if may[d] {
			one = signed.GetRequests()[next]
			next++
		}
		response.Requests = append(response.Requests, one)
	}
	return response, nil
}

// SignWrites implements CorpusService. A request to an object store proves nothing about who wrote a blob that was there before.
func (s *Service) SignWrites(ctx context.Context, request *misstepv1.SignWritesRequest) (*misstepv1.SignWritesResponse, error) {
	if !MayWrite(ctx) {
		return nil, status.Error(codes.Unimplemented, "a runner writes evidence through the coordinator")
	}
	return s.CorpusServiceServer.SignWrites(ctx, request)
}

// Write implements CorpusService.
func (s *Service) Write(stream grpc.ClientStreamingServer[misstepv1.WriteRequest, misstepv1.WriteResponse]) error {
	c := access.From(stream.Context())
	if MayWrite(stream.Context()) {
		return s.CorpusServiceServer.Write(stream)
	}
	if err := s.guard.Begins(stream.Context(), c.Name); err != nil {
		return err
	}
	return s.CorpusServiceServer.Write(&counted{ClientStreamingServer: stream, service: s, caller: c})
}

// counted is the stream of a blob that is evidence.
type counted struct {
	grpc.ClientStreamingServer[misstepv1.WriteRequest, misstepv1.WriteResponse]
	service *Service
	caller  *access.Caller
	digest  string
}

func (c *counted) Recv() (*misstepv1.WriteRequest, error) {
	m, err := c.ClientStreamingServer.Recv()
	if err != nil {
		return m, err
	}
	if c.digest == "" {
		c.digest = m.GetDigest()
	}
	if err := c.service.guard.Writes(c.Context(), c.caller.Name, len(m.GetData())); err != nil {
		return nil, err
	}
	return m, nil
}

func (c *counted) SendAndClose(m *misstepv1.WriteResponse) error {
	m.Receipt = c.service.receipts.Of(c.caller.Name, c.digest, m.GetSize())
	return c.ClientStreamingServer.SendAndClose(m)
}
