package catalogue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"misstep/corpus"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// suite is the workload that is many: its benchmarks are workloads of one tree, "renaissance/NAME".
const suite = "renaissance"

// Trees are the blobs of a coordinator.
type Trees struct {
	// Kept has what clients send. An entry's files are all there.
	Kept corpus.Store
	// All has beside that what the coordinator only lends, such as the JDKs of its own machine.
	All corpus.Source
}

// checkers bounds the files that are asked for at the same time.
const checkers = 16

// maxSmall bounds in bytes what is read of a tree's own description.
const maxSmall = 1 << 20

// Refused is an error about a tree that cannot be an entry; other errors are those of a store.
type Refused struct{ err error }

// Error says what is wrong and how to put it right.
func (r *Refused) Error() string { return r.err.Error() }

// Unwrap returns the cause.
func (r *Refused) Unwrap() error { return r.err }

func refuse(format string, args ...any) error { return &Refused{fmt.Errorf(format, args...)} }

// Verify reads the tree that a request names, which has passed Check, and returns the entry without owner and times. A tree that is
// incomplete, or is none, is refused. Files that Kept lacks are copied there, so that the entry does not depend on what else the
// machine has.
func (t Trees) Verify(ctx context.Context, r *misstepv1.AddCatalogueEntryRequest) (*misstepv1.CatalogueEntry, error) {
	digest, err := corpus.ParseDigest(r.GetDigest())
	if err != nil {
		return nil, refuse("digest: %w", err)
	}
	m, err := tree.Open(ctx, t.All, digest)
	switch {
	case errors.Is(err, corpus.ErrNotFound):
		return nil, refuse("the corpus has no tree %s: send its files and its manifest first; `misstep %s add` does", digest,
			strings.ToLower(Word(r.GetKind())))
	case errors.Is(err, corpus.ErrUnavailable), ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, refuse("%w", err)
	}
	if err := t.complete(ctx, m); err != nil {
		return nil, err
	}
	e := &misstepv1.CatalogueEntry{
		Kind: r.GetKind(), Name: r.GetName(), Digest: r.GetDigest(), Size: uint64(m.Size()), Labels: r.GetLabels(),
		Keep: r.GetKeep(), Jdk: r.GetJdk(),
	}
	for entry := range m.Entries() {
		if !entry.Digest.IsZero() {
			e.Files++
		}
	}
	if r.GetKind() == JDK {
		return e, t.checkJDK(ctx, m, e.GetJdk())
	}
	e.Workload, err = t.workload(ctx, m, r.GetName())
	return e, err
}

// complete makes sure that Kept has every file of a tree with its size, and the manifest.
func (t Trees) complete(ctx context.Context, m tree.Manifest) error {
	sizes, paths := map[corpus.Digest]int64{}, map[corpus.Digest]string{}
	var digests []corpus.Digest
	for e := range m.Entries() {
		if e.Digest.IsZero() {
			continue
		}
		if size, known := sizes[e.Digest]; known {
			if size != e.Size {
				return refuse("the manifest gives %s two sizes, at %s and %s", e.Digest, paths[e.Digest], e.Path)
			}
			continue
		}
		sizes[e.Digest], paths[e.Digest] = e.Size, e.Path
		digests = append(digests, e.Digest)
	}
	missing, err := t.All.Missing(ctx, digests)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return refuse("%d of its %d files are missing, the first one is %s: add it again, which sends what is missing",
			len(missing), len(digests), paths[missing[0]])
	}
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(checkers)
	for _, d := range digests {
		group.Go(func() error { return t.hasSize(asking, d, sizes[d], paths[d]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return t.keep(ctx, append(digests, m.Digest()))
}

func (t Trees) hasSize(ctx context.Context, d corpus.Digest, want int64, file string) error {
	r, size, err := t.All.Open(ctx, d)
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	if size != want {
		return refuse("%s has %d bytes, not %d as the manifest says", file, size, want)
	}
	return nil
}

// keep copies blobs to Kept that it lacks.
func (t Trees) keep(ctx context.Context, digests []corpus.Digest) error {
	lent, err := t.Kept.Missing(ctx, digests)
	if err != nil {
		return err
	}
	for _, d := range lent {
		r, _, err := t.All.Open(ctx, d)
		if err != nil {
			return err
		}
		_, _, err = t.Kept.Put(ctx, r, d)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// checkJDK refuses a tree that is no JDK, and facts that its file release contradicts.
func (t Trees) checkJDK(ctx context.Context, m tree.Manifest, facts *misstepv1.JdkFacts) error {
	if java, ok := m.Lookup("bin/java"); !ok || java.Kind != tree.KindExecutable && java.Kind != tree.KindLink {
		return refuse("it is no JDK: it has no program bin/java; give the folder that holds bin, lib and release (JAVA_HOME)")
	}
	release, ok := m.Lookup("release")
	if !ok || release.Digest.IsZero() {
		return nil // Debian's JDK 8 has none
	}
	text, err := t.read(ctx, release)
	if err != nil {
		return err
	}
	feature, err := jdk.FeatureOfRelease(string(text))
	if err != nil {
		return refuse("its file release: %w", err)
	}
	if feature != int(facts.GetFeature()) {
		return refuse("jdk.feature: %d, but its file release says %d", facts.GetFeature(), feature)
	}
	return nil
}

// workload reads a workload's manifest.
func (t Trees) workload(ctx context.Context, m tree.Manifest, name string) (*misstepv1.WorkloadFacts, error) {
	file, ok := m.Lookup(workloads.ManifestFile)
	if !ok || file.Digest.IsZero() {
		return nil, refuse("it is no workload: it has no %s", workloads.ManifestFile)
	}
	text, err := t.read(ctx, file)
	if err != nil {
		return nil, err
	}
	w, err := workloads.Parse(text, workloads.ManifestFile)
	if err == nil {
		err = w.CheckTree(m)
	}
	if err != nil {
		return nil, &Refused{err}
	}
	if own, _, isPart := strings.Cut(name, "/"); own != w.Name || isPart != (w.Harness == workloads.HarnessRenaissance) {
		return nil, refuse("name: its %s calls it %q, not %q", workloads.ManifestFile, w.Name, name)
	}
	return &misstepv1.WorkloadFacts{
		Description: w.Description, MinFeature: uint32(w.MinFeature), NeedsCompiler: w.NeedsCompiler, // at most 1024
	}, nil
}

func (t Trees) read(ctx context.Context, e tree.Entry) ([]byte, error) {
	if e.Size > maxSmall {
		return nil, refuse("%s has %d bytes, at most %d are read", e.Path, e.Size, maxSmall)
	}
	return corpus.ReadAll(ctx, t.All, e.Digest, maxSmall)
}

// CheckPattern returns an error unless a pattern of names is short and well-formed.
func CheckPattern(pattern string) error {
	if len(pattern) > maxLabel {
		return fmt.Errorf("expected at most %d bytes, got %d", maxLabel, len(pattern))
	}
	_, err := path.Match(pattern, "")
	return err
}

// Matches reports whether a name matches a pattern that has passed CheckPattern: * stands for any text without a slash, ? for one
// character.
func Matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Select returns the entries that a question matches.
func Select(entries []*misstepv1.CatalogueEntry, q *misstepv1.ListCatalogueEntriesRequest) []*misstepv1.CatalogueEntry {
	return slices.DeleteFunc(entries, func(e *misstepv1.CatalogueEntry) bool {
		if q.GetPattern() != "" && !Matches(q.GetPattern(), e.GetName()) {
			return true
		}
		for key, value := range q.GetLabels() {
			if have, ok := e.GetLabels()[key]; !ok || have != value {
				return true
			}
		}
		return false
	})
}
