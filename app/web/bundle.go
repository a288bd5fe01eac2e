package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
)

// maxBundles is the number of bundles that are written at the same time.
const maxBundles = 2

// bundle sends the bundle of a finding.
func (s *Site) bundle(w http.ResponseWriter, r *http.Request) {
	err := s.withBundle(r, func(id, path string) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		download(w, id+".zip")
		_, _ = io.Copy(w, file) // whoever asked may have gone
		return nil
	})
	if err != nil {
		s.fail(w, r, err)
	}
}

// report shows the draft of a bug report that the bundle of a finding has.
func (s *Site) report(r *http.Request) (*page, error) {
	var text []byte
	var finding string
	err := s.withBundle(r, func(id, path string) error {
		b, err := bundle.Open(path)
		if err != nil {
			return err
		}
		defer b.Close()
		finding = id
		text, err = b.ReadFile(bundle.Report)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &page{
		template: "report", title: finding + ": bug report", data: struct{ Finding, Text string }{finding, string(text)},
		json: map[string]string{"finding": finding, "report": string(text)},
		csv:  [][]string{{"finding", "report"}, {finding, string(text)}},
	}, nil
}

// withBundle calls f with the id of the finding that a request names and the file of its bundle, which it removes afterwards. The
// visitor has one of the downloads at a time until then.
func (s *Site) withBundle(r *http.Request, f func(id, path string) error) error {
	leave, err := s.downloads.join(visitOf(r.Context()).caller)
	if err != nil {
		return err
	}
	defer leave()
	if s.Bundle == nil {
		return status.Error(codes.FailedPrecondition, "no bundles here: this process has no agent to put into them")
	}
	response, err := s.admin.GetFinding(r.Context(), &misstepv1.GetFindingRequest{FindingId: r.PathValue("id")})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "misstep-web-")
	if err != nil {
		return fmt.Errorf("make folder for a bundle: %w", err)
	}
	defer os.RemoveAll(dir)
	id := response.GetFinding().GetId()
	path := filepath.Join(dir, id+".zip")
	if err := s.writeBundle(r.Context(), id, path); err != nil {
		return err
	}
	return f(id, path)
}

// writeBundle writes the bundle of a finding to a file when it is its turn.
func (s *Site) writeBundle(ctx context.Context, id, path string) error {
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	err := s.Bundle(ctx, id, path)
	if _, known := status.FromError(err); !known {
		err = status.Error(codes.FailedPrecondition, err.Error())
	}
	return err
}
