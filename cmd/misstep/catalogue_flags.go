package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"misstep/app/catalogues"
	misstepv1 "misstep/proto/misstep/v1"
)

// The kinds of entries of a shared catalogue.
const (
	kindJDK      = misstepv1.CatalogueKind_CATALOGUE_KIND_JDK
	kindWorkload = misstepv1.CatalogueKind_CATALOGUE_KIND_WORKLOAD
)

// shared reports whether a command is about the catalogue of a coordinator, not about this machine's own.
func (f coordinatorFlags) shared() bool { return len(f.Coordinator) > 0 || f.Dir != "" }

// entryFlags describe an entry that is added to a shared catalogue.
type entryFlags struct {
	Label   map[string]string `help:"With --coordinator: a label of the entry, e.g. pr=1234; may be repeated." mapsep:"none" placeholder:"KEY=VALUE"`
	Keep    time.Duration     `within:"(0,3660d]" help:"With --coordinator: remove the entry this long after it was added or last used, e.g. 30d (default: never). What a finding, a reproduction, a running campaign or a shared bundle needs is kept." placeholder:"TIME"`
	Replace bool              `help:"With --coordinator: take the place of an entry of this name with other files, which is kept as NAME@DIGITS."`
}

func (f entryFlags) options(e *env) catalogues.Options {
	return catalogues.Options{Labels: f.Label, Keep: f.Keep, Replace: f.Replace, Progress: importProgress(e)}
}

// check refuses the flags where there is no shared catalogue.
func (f entryFlags) check(shared bool) error {
	if !shared && (len(f.Label) > 0 || f.Keep > 0 || f.Replace) {
		return errors.New("--label, --keep and --replace are for the catalogue of a coordinator: give --coordinator HOST:PORT or " +
			"--dir DIR, too")
	}
	return nil
}

// selectionFlags select entries of a shared catalogue.
type selectionFlags struct {
	Pattern string            `arg:"" optional:"" help:"With --coordinator: names to list, e.g. 'openjdk-*' (default: all)."`
	Label   map[string]string `help:"With --coordinator: list entries with this label; may be repeated." mapsep:"none" placeholder:"KEY=VALUE"`
	JSON    bool              `help:"Print a list of entries."`
}

// check refuses a selection where there is no shared catalogue.
func (f selectionFlags) check(shared bool) error {
	if !shared && (f.Pattern != "" || len(f.Label) > 0) {
		return errors.New("a pattern and --label are for the catalogue of a coordinator: give --coordinator HOST:PORT or " +
			"--dir DIR, too")
	}
	return nil
}

// listShared prints entries of a shared catalogue.
func listShared(ctx context.Context, e *env, at coordinatorFlags, kind misstepv1.CatalogueKind, s selectionFlags) error {
	st, err := at.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	query := &misstepv1.ListCatalogueEntriesRequest{Kind: kind, Pattern: s.Pattern, Labels: s.Label}
	entries, err := catalogues.List(ctx, st.Catalogue, query)
	if err != nil {
		return err
	}
	if s.JSON {
		return e.json(raws(entries))
	}
	t := table(e.stdout)
	about := "feature"
	if kind == kindWorkload {
		about = "from JDK"
	}
	fmt.Fprintf(t, "name\t%s\tsize\towner\tadded\tused\tkept for\tlabels\tdigest\n", about)
	for _, entry := range entries {
		feature := max(entry.GetJdk().GetFeature(), entry.GetWorkload().GetMinFeature())
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%.19s…\n", entry.GetName(), feature, humanize.IBytes(entry.GetSize()),
			orDash(entry.GetOwner()), entry.GetAdded().AsTime().Local().Format(time.DateTime), usedOf(entry), keepOf(entry),
			orDash(labelsOf(entry)), entry.GetDigest())
	}
	return t.Flush()
}

func usedOf(entry *misstepv1.CatalogueEntry) string {
	if entry.GetUsed() == nil {
		return "never"
	}
	return entry.GetUsed().AsTime().Local().Format(time.DateTime)
}

func keepOf(entry *misstepv1.CatalogueEntry) string {
	if entry.GetKeep() == nil {
		return "ever"
	}
	if d := entry.GetKeep().AsDuration(); d%(24*time.Hour) != 0 {
		return d.String()
	}
	return strconv.Itoa(int(entry.GetKeep().AsDuration()/(24*time.Hour))) + "d"
}

func labelsOf(entry *misstepv1.CatalogueEntry) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(entry.GetLabels())) {
		all = append(all, key+"="+entry.GetLabels()[key])
	}
	return strings.Join(all, ",")
}

// printAdded prints what was added to a shared catalogue.
func printAdded(e *env, responses []*misstepv1.AddCatalogueEntryResponse, asJSON bool) error {
	if asJSON {
		return e.json(raws(responses))
	}
	for _, r := range responses {
		entry, how := r.GetEntry(), "added"
		if r.GetExisting() {
			how = "was there already"
		}
		fmt.Fprintf(e.stdout, "%s: %s, %s\n", entry.GetName(), how, entry.GetDigest())
		if entry.GetReplaced() != "" && !r.GetExisting() {
			fmt.Fprintf(e.stdout, "  the earlier one is now %s\n", entry.GetReplaced())
		}
		for _, id := range r.GetCampaignIds() {
			fmt.Fprintf(e.stdout, "  campaign %s was submitted by a schedule\n", id)
		}
	}
	return nil
}

// removeShared removes a name from a shared catalogue.
func removeShared(ctx context.Context, e *env, at coordinatorFlags, kind misstepv1.CatalogueKind, name string) error {
	st, err := at.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.Catalogue.RemoveCatalogueEntry(ctx, &misstepv1.RemoveCatalogueEntryRequest{Kind: kind, Name: name})
	return err
}
