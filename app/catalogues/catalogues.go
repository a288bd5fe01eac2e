// Package catalogues adds JDK builds and workloads of this machine to the shared catalogue of a coordinator.
//
// What is added is checked as by an import into the machine's own catalogue, in a folder that is removed afterwards. Only blobs
// that the coordinator lacks are sent, so an interrupted call continues where it ended.
package catalogues

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/local"
	"misstep/app/station"
	"misstep/app/submission"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// Options of what is added.
type Options struct {
	// Labels as in AddCatalogueEntryRequest.
	Labels map[string]string
	// Keep is how long an entry is kept after it was added or last used; 0 is for ever.
	Keep time.Duration
	// Replace an entry of the same name with other files.
	Replace bool
	// Progress of the import and of what is sent.
	Progress jdk.Progress
}

func (o Options) request(kind misstepv1.CatalogueKind, name string, m tree.Manifest) *misstepv1.AddCatalogueEntryRequest {
	r := &misstepv1.AddCatalogueEntryRequest{
		Kind: kind, Name: name, Digest: m.Digest().String(), Labels: o.Labels, Replace: o.Replace,
	}
	if o.Keep > 0 {
		r.Keep = durationpb.New(o.Keep)
	}
	return r
}

// AddJDK adds a JDK build under a name. source is as for jdk.Catalogue.Add, with its SHA-256 for an archive; empty takes the build
// of that name from the machine's own catalogue.
func AddJDK(
	ctx context.Context, i local.Installation, st *station.Station, name, source, sha256 string, o Options,
) (*misstepv1.AddCatalogueEntryResponse, error) {
	jdks := i.JDKs()
	if source != "" {
		home, remove, err := scratch(i)
		if err != nil {
			return nil, err
		}
		defer remove()
		jdks = jdk.Open(home)
		if _, err := jdks.Add(ctx, name, source, jdk.AddOptions{SHA256: sha256, Progress: o.Progress}); err != nil {
			return nil, err
		}
	}
	entry, err := jdks.Get(name)
	if err != nil {
		return nil, err
	}
	dir, m, err := jdks.Tree(name)
	if err != nil {
		return nil, err
	}
	request := o.request(misstepv1.CatalogueKind_CATALOGUE_KIND_JDK, name, m)
	if request.Jdk, err = submission.Facts(ctx, jdks, entry); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(entry.Source) { // a path of this machine says nothing to others
		request.Jdk.Source = entry.Source
	}
	if err := push(ctx, st.Blobs, dir, m, o.Progress); err != nil {
		return nil, fmt.Errorf("send JDK %q: %w", name, err)
	}
	return st.Catalogue.AddCatalogueEntry(ctx, request)
}

// AddWorkloads adds the built workload in folder source, or each one in the folders below it. If there is no such folder, source
// is the name of a workload of the machine's own catalogue; renaissance is all benchmarks of the suite.
func AddWorkloads(
	ctx context.Context, i local.Installation, st *station.Station, source string, o Options,
) ([]*misstepv1.AddCatalogueEntryResponse, error) {
	entries, err := own(i, source)
	if err != nil {
		return nil, err
	}
	if entries == nil {
		home, remove, err := scratch(i)
		if err != nil {
			return nil, err
		}
		defer remove()
		if entries, err = workloads.Open(home).AddAll(ctx, source); err != nil {
			return nil, err
		}
	}
	return share(ctx, st, entries, o)
}

// AddRenaissance adds the benchmarks of the suite's jar.
func AddRenaissance(
	ctx context.Context, i local.Installation, st *station.Station, suite workloads.RenaissanceOptions, o Options,
) ([]*misstepv1.AddCatalogueEntryResponse, error) {
	home, remove, err := scratch(i)
	if err != nil {
		return nil, err
	}
	defer remove()
	entries, err := workloads.Open(home).AddRenaissance(ctx, suite)
	if err != nil {
		return nil, err
	}
	return share(ctx, st, entries, o)
}

// own returns workloads of the machine's own catalogue; none if source is a folder.
func own(i local.Installation, source string) ([]workloads.Entry, error) {
	if _, err := os.Stat(source); err == nil {
		return nil, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if source == suite {
		all, err := i.Workloads().List()
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(e workloads.Entry) bool { return !strings.HasPrefix(e.Name, suite+"/") })
		if len(all) > 0 {
			return all, nil
		}
	}
	entry, err := i.Workloads().Get(source)
	if err != nil {
		return nil, fmt.Errorf("there is no folder %s, and the catalogue of this machine has none under that name: %w", source, err)
	}
	return []workloads.Entry{entry}, nil
}

const suite = "renaissance"

func share(ctx context.Context, st *station.Station, entries []workloads.Entry, o Options) (
	[]*misstepv1.AddCatalogueEntryResponse, error,
) {
	manifests := map[string]tree.Manifest{} // by folder, which the benchmarks of Renaissance share
	var added []*misstepv1.AddCatalogueEntryResponse
	for _, entry := range entries {
		m, sent := manifests[entry.Path]
		if !sent {
			var err error
			if m, err = tree.Scan(entry.Path); err == nil {
				err = push(ctx, st.Blobs, entry.Path, m, o.Progress)
			}
			if err != nil {
				return added, fmt.Errorf("send workload %s: %w", entry.Name, err)
			}
			manifests[entry.Path] = m
		}
		request := o.request(misstepv1.CatalogueKind_CATALOGUE_KIND_WORKLOAD, entry.Name, m)
		response, err := st.Catalogue.AddCatalogueEntry(ctx, request)
		if err != nil {
			return added, err
		}
		added = append(added, response)
	}
	return added, nil
}

// scratch makes a folder for a catalogue that nobody keeps, on the disk of the machine's own one.
func scratch(i local.Installation) (dir string, remove func(), err error) {
	if err := os.MkdirAll(i.Home, 0o755); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(i.Home, ".share-*")
	if err != nil {
		return "", nil, fmt.Errorf("a folder to import into: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// List returns all entries that a question selects.
func List(
	ctx context.Context, from misstepv1.CatalogueServiceClient, q *misstepv1.ListCatalogueEntriesRequest,
) ([]*misstepv1.CatalogueEntry, error) {
	var all []*misstepv1.CatalogueEntry
	for {
		page, err := from.ListCatalogueEntries(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetEntries()...)
		if q.PageToken = page.GetNextPageToken(); q.GetPageToken() == "" {
			return all, nil
		}
	}
}
