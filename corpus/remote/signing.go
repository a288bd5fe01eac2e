package remote

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	maxSigned = 1000 // requests of one call, the bound in corpus.proto
	signers   = 16   // requests that are signed at the same time: each asks the object store
)

func (s *server) SignReads(ctx context.Context, request *misstepv1.SignReadsRequest) (*misstepv1.SignReadsResponse, error) {
	if err := s.maySign(len(request.GetDigests())); err != nil {
		return nil, err
	}
	digests, err := parseAll(request.GetDigests())
	if err != nil {
		return nil, err
	}
	requests, err := signAll(ctx, len(digests), func(ctx context.Context, i int) (corpus.SignedRequest, error) {
		signed, err := s.signRead(ctx, digests[i])
		if errors.Is(err, corpus.ErrNotFound) {
			return corpus.SignedRequest{}, nil
		}
		return signed, err
	})
	return &misstepv1.SignReadsResponse{Requests: requests}, err
}

// signRead signs a request for a blob of the object store. A blob that is elsewhere, in a catalogue, is copied first.
func (s *server) signRead(ctx context.Context, d corpus.Digest) (corpus.SignedRequest, error) {
	signed, err := s.signer.SignRead(ctx, d)
	if !errors.Is(err, corpus.ErrNotFound) {
		return signed, err
	}
	_, err, _ = s.copying.Do(d.Hex(), func() (any, error) {
		ctx := context.WithoutCancel(ctx) // others wait for it, too
		blob, _, err := s.store.Open(ctx, d)
		if err != nil {
			return nil, err
		}
		defer blob.Close()
		_, _, err = s.store.Put(ctx, blob, d)
		return nil, err
	})
	if err != nil {
		return corpus.SignedRequest{}, err
	}
	return s.signer.SignRead(ctx, d)
}

func (s *server) SignWrites(ctx context.Context, request *misstepv1.SignWritesRequest) (*misstepv1.SignWritesResponse, error) {
	if err := s.maySign(len(request.GetBlobs())); err != nil {
		return nil, err
	}
	blobs := request.GetBlobs()
	digests := make([]corpus.Digest, len(blobs))
	for i, b := range blobs {
		var err error
		if digests[i], err = parse(b.GetDigest()); err != nil {
			return nil, err
		}
		if size := b.GetSize(); size > uint64(s.maxBlob) { // not negative
			return nil, toStatus(errTooLarge(size))
		}
	}
	requests, err := signAll(ctx, len(blobs), func(ctx context.Context, i int) (corpus.SignedRequest, error) {
		return s.signer.SignWrite(ctx, digests[i], int64(blobs[i].GetSize())) // at most maxBlob
	})
	return &misstepv1.SignWritesResponse{Requests: requests}, err
}

func (s *server) maySign(n int) error {
	if s.signer == nil {
		return status.Error(codes.Unimplemented, "the blobs of this server are not in an object store: use Read and Write")
	}
	if n > maxSigned {
		return status.Errorf(codes.InvalidArgument, "%d requests to sign, at most %d per call", n, maxSigned)
	}
	return nil
}

func signAll(
	ctx context.Context, n int, sign func(ctx context.Context, i int) (corpus.SignedRequest, error),
) ([]*misstepv1.SignedRequest, error) {
	requests := make([]*misstepv1.SignedRequest, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(signers)
	for i := range n {
		group.Go(func() error {
			signed, err := sign(ctx, i)
			if err != nil {
				return err
			}
			requests[i] = &misstepv1.SignedRequest{}
			if signed.URL != "" {
				requests[i] = &misstepv1.SignedRequest{
					Url: signed.URL, Headers: signed.Headers, Size: uint64(max(0, signed.Size)),
					Expires: timestamppb.New(signed.Expires),
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, toStatus(err)
	}
	return requests, nil
}
