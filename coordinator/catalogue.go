package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/catalogue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/corpus"
	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
)

// AddCatalogueEntry implements the CatalogueService. The tree is read outside of the transaction, which is then short.
func (s *Server) AddCatalogueEntry(
	ctx context.Context, req *misstepv1.AddCatalogueEntryRequest,
) (*misstepv1.AddCatalogueEntryResponse, error) {
	if err := catalogue.Check(req); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if s.config.Trees == nil {
		return nil, status.Error(codes.FailedPrecondition, "this coordinator has no corpus for trees")
	}
	entry, err := s.config.Trees.Verify(ctx, req)
	if err != nil {
		return nil, treeStatus(req, err)
	}
	resp := &misstepv1.AddCatalogueEntryResponse{}
	if err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		resp.Reset()
		return s.addEntry(ctx, tx, proto.CloneOf(entry), req.GetReplace(), now, resp)
	}); err != nil {
		return nil, err
	}
	e := resp.GetEntry()
	s.config.Logger.InfoContext(ctx, "catalogue entry added", slog.String("name", e.GetName()),
		slog.String("digest", e.GetDigest()), slog.String("owner", e.GetOwner()), slog.Bool("existing", resp.GetExisting()))
	return resp, nil
}

// treeStatus gives an error about a tree its code.
func treeStatus(req *misstepv1.AddCatalogueEntryRequest, err error) error {
	if refused, ok := errors.AsType[*catalogue.Refused](err); ok {
		return status.Errorf(codes.FailedPrecondition, "%s %s: %v", catalogue.Word(req.GetKind()), req.GetName(), refused)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	if errors.Is(err, corpus.ErrUnavailable) || errors.Is(err, corpus.ErrNotFound) { // removed since it was asked for
		return status.Errorf(codes.Unavailable, "read the tree of %s: %v", req.GetName(), err)
	}
	return status.Errorf(codes.Internal, "read the tree of %s: %v", req.GetName(), err)
}

func (s *Server) addEntry(
	ctx context.Context, tx store.Tx, e *misstepv1.CatalogueEntry, replace bool, now time.Time,
	resp *misstepv1.AddCatalogueEntryResponse,
) error {
	old, err := tx.CatalogueEntry(e.GetKind(), e.GetName())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	same := old.GetDigest() == e.GetDigest()
	switch {
	case old == nil:
	case same && !replace:
		resp.Entry, resp.Existing = old, true
		return nil
	case !replace:
		return status.Errorf(codes.AlreadyExists, "%s %s is %s, added by %s on %s: choose another name, or give --replace, which "+
			"keeps that one as %s", catalogue.Word(e.GetKind()), e.GetName(), old.GetDigest(), ownerName(old),
			old.GetAdded().AsTime().Format(time.DateOnly), catalogue.Retired(old))
	case !mayChange(ctx, old):
		return notOwner(old)
	}
	e.Owner, e.Added = access.From(ctx).Name, timestamppb.New(now)
	if !same {
		if err := room(tx, e.GetKind()); err != nil {
			return err
		}
	}
	if same {
		e.Owner, e.Added, e.Used, e.Replaced = old.GetOwner(), old.GetAdded(), old.GetUsed(), old.GetReplaced()
		resp.Existing = true
	} else if old != nil {
		e.Replaced = catalogue.Retired(old)
		old.Name = e.GetReplaced()
		if err := tx.PutCatalogueEntry(old); err != nil {
			return err
		}
	}
	resp.Entry = e
	if err := tx.PutCatalogueEntry(e); err != nil || same || e.GetKind() != catalogue.JDK {
		return err
	}
	resp.CampaignIds, err = s.runForNewJDK(scoped.In(tx, access.Project(ctx)), e, now)
	return err
}

// room returns an error when the catalogue is full.
func room(tx store.Tx, kind misstepv1.CatalogueKind) error {
	all, err := tx.CatalogueEntries(kind)
	if err != nil {
		return err
	}
	if len(all) >= catalogue.MaxEntries {
		return status.Errorf(codes.ResourceExhausted, "the catalogue has %d %ss, the most that it holds: remove some, or let them "+
			"age with --keep", len(all), catalogue.Word(kind))
	}
	return nil
}

func ownerName(e *misstepv1.CatalogueEntry) string {
	if e.GetOwner() == "" {
		return "somebody"
	}
	return e.GetOwner()
}

func notOwner(e *misstepv1.CatalogueEntry) error {
	return status.Errorf(codes.PermissionDenied, "%s %s belongs to %s: ask them or an administrator, or use another name",
		catalogue.Word(e.GetKind()), e.GetName(), ownerName(e))
}

// ListCatalogueEntries implements the CatalogueService. The token of a page is the kind and name of its last entry.
func (s *Server) ListCatalogueEntries(
	ctx context.Context, req *misstepv1.ListCatalogueEntriesRequest,
) (*misstepv1.ListCatalogueEntriesResponse, error) {
	if err := catalogue.CheckPattern(req.GetPattern()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "pattern: %v", err)
	}
	if err := catalogue.CheckLabels(req.GetLabels()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	resp := &misstepv1.ListCatalogueEntriesResponse{}
	err := s.read(ctx, func(tx store.Tx, _ time.Time) error {
		resp.Reset()
		all, err := tx.CatalogueEntries(req.GetKind())
		if err != nil {
			return err
		}
		size := 0
		for _, e := range catalogue.Select(all, req) {
			if req.GetPageToken() != "" && position(e) <= req.GetPageToken() {
				continue
			}
			if size += proto.Size(e); size > maxPageBytes && len(resp.Entries) > 0 {
				resp.NextPageToken = position(resp.Entries[len(resp.Entries)-1])
				return nil
			}
			resp.Entries = append(resp.Entries, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// position orders entries as the store does: by kind, then by name.
func position(e *misstepv1.CatalogueEntry) string {
	return strconv.Itoa(int(e.GetKind())) + "/" + e.GetName()
}

// RemoveCatalogueEntry implements the CatalogueService.
func (s *Server) RemoveCatalogueEntry(
	ctx context.Context, req *misstepv1.RemoveCatalogueEntryRequest,
) (*misstepv1.RemoveCatalogueEntryResponse, error) {
	resp := &misstepv1.RemoveCatalogueEntryResponse{}
	err := s.update(ctx, func(tx store.Tx, _ time.Time) error {
		e, err := tx.CatalogueEntry(req.GetKind(), req.GetName())
		if errors.Is(err, store.ErrNotFound) {
			return noEntry(tx, req.GetKind(), req.GetName())
		}
		if err != nil {
			return err
		}
		if !mayChange(ctx, e) {
			return notOwner(e)
		}
		resp.Entry = e
		return tx.DeleteCatalogueEntry(e.GetKind(), e.GetName())
	})
	if err != nil {
		return nil, err
	}
	s.config.Logger.InfoContext(ctx, "catalogue entry removed", slog.String("name", req.GetName()))
	return resp, nil
}

// noEntry says that the catalogue has no such name, and which one may be meant.
func noEntry(tx store.Tx, kind misstepv1.CatalogueKind, name string) error {
	all, err := tx.CatalogueEntries(kind)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.GetName()
	}
	word := catalogue.Word(kind)
	return status.Errorf(codes.NotFound, "the shared catalogue has no %s %s%s; `misstep %s list --coordinator HOST:PORT` lists them",
		word, suggest.Quote(name), suggest.Among(name, names), strings.ToLower(word))
}

// mayChange reports whether the caller may replace or remove an entry: its owner and administrators may.
func mayChange(ctx context.Context, e *misstepv1.CatalogueEntry) bool {
	c := access.From(ctx)
	return c.Name == e.GetOwner() || c.May(misstepv1.Role_ROLE_ADMIN, "")
}
