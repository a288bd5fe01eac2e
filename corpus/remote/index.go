package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus/index"
	misstepv1 "misstep/proto/misstep/v1"
)

const maxPage = 1000 // entries, the bound in corpus.proto

func (s *server) ListEntries(ctx context.Context, request *misstepv1.ListEntriesRequest) (*misstepv1.ListEntriesResponse, error) {
	if s.index == nil {
		return nil, status.Error(codes.Unimplemented, "this server shares no bundles")
	}
	entries, err := s.index.Entries(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	slices.SortFunc(entries, byDigest)
	// A page token is the last digest of the previous page, so entries that are added in between do no harm.
	start := 0
	if after := request.GetPageToken(); after != "" {
		start = max(0, slices.IndexFunc(entries, func(e index.Entry) bool { return e.Digest().Hex() > after }))
		if len(entries) == 0 || entries[len(entries)-1].Digest().Hex() <= after {
			start = len(entries)
		}
	}
	end := min(start+maxPage, len(entries))
	response := &misstepv1.ListEntriesResponse{}
	for _, e := range entries[start:end] {
		response.Entries = append(response.Entries, string(e.Text()))
	}
	if end < len(entries) {
		response.NextPageToken = entries[end-1].Digest().Hex()
	}
	return response, nil
}

func byDigest(a, b index.Entry) int { return strings.Compare(a.Digest().Hex(), b.Digest().Hex()) }

func (s *server) AddEntry(ctx context.Context, request *misstepv1.AddEntryRequest) (*misstepv1.AddEntryResponse, error) {
	if s.index == nil {
		return nil, status.Error(codes.Unimplemented, "this server shares no bundles")
	}
	e, err := index.ParseEntry([]byte(request.GetEntry()))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	var refused *index.RefusedError
	switch err := s.admit(ctx, s.store, e); {
	case errors.As(err, &refused):
		return nil, status.Error(codes.FailedPrecondition, refused.Error())
	case err != nil:
		return nil, toStatus(err)
	}
	if err := s.index.Add(ctx, e); err != nil {
		return nil, toStatus(err)
	}
	return &misstepv1.AddEntryResponse{}, nil
}

// Index returns the index at the other end of connection.
func Index(connection grpc.ClientConnInterface) index.Index {
	return &remoteIndex{misstepv1.NewCorpusServiceClient(connection)}
}

type remoteIndex struct {
	service misstepv1.CorpusServiceClient
}

func (r *remoteIndex) Entries(ctx context.Context) ([]index.Entry, error) {
	var entries []index.Entry
	for token := ""; ; {
		page, err := r.service.ListEntries(ctx, &misstepv1.ListEntriesRequest{PageToken: token})
		if err != nil {
			return nil, fromStatus("list remote entries", err)
		}
		for _, text := range page.GetEntries() {
			e, err := index.ParseEntry([]byte(text))
			if err != nil {
				return nil, fmt.Errorf("list remote entries: %w", err)
			}
			entries = append(entries, e)
		}
		next := page.GetNextPageToken()
		if next == "" {
			return entries, nil
		}
		if next <= token {
			return nil, fmt.Errorf("list remote entries: page %.80q follows page %.80q: the server repeats pages", next, token)
		}
		token = next
	}
}

func (r *remoteIndex) Add(ctx context.Context, e index.Entry) error {
	_, err := r.service.AddEntry(ctx, &misstepv1.AddEntryRequest{Entry: string(e.Text())})
	if status.Code(err) == codes.FailedPrecondition {
		return &index.RefusedError{Err: fromStatus("add remote entry", err)}
	}
	if err != nil {
		return fromStatus("add remote entry", err)
	}
	return nil
}
