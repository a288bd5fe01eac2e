package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"misstep/catalogue"
	"misstep/corpus"
	"misstep/corpus/tree"
)

// Entry is one workload of the catalogue, or one benchmark of Renaissance.
type Entry struct {
	// Name in campaigns: the manifest's, or "renaissance/NAME".
	Name string `json:"name"`
	// Path of the folder with its manifest and jars; the benchmarks of Renaissance share one.
	Path string `json:"path"`
	// Digest of the folder's tree manifest.
	Digest corpus.Digest `json:"digest"`
	// Description in one line.
	Description string `json:"description,omitempty"`
	// Harness whose protocol it follows.
	Harness Harness `json:"harness"`
	// MinFeature is the oldest JDK feature version it runs on.
	MinFeature int `json:"min_feature"`
	// NeedsCompiler reports whether it needs a JDK with jdk.compiler.
	NeedsCompiler bool `json:"needs_compiler,omitempty"`
	// Calibration names the known bug that it is designed to show.
	Calibration string `json:"calibration,omitempty"`
	// Source that it was added from, for display: a folder, a jar's path or its URL.
	Source string `json:"source"`
}

// EntryName implements catalogue.Entry.
func (e Entry) EntryName() string { return e.Name }

// TreeDigest implements catalogue.Entry.
func (e Entry) TreeDigest() corpus.Digest { return e.Digest }

// Catalogue keeps workloads under names: HOME/workloads/NAME.json, and a verified copy of the folder in HOME/workloads/NAME@DIGITS.
// Behind them may be the workloads of a release, which are only read. It holds no state: several processes may use it at once.
type Catalogue struct {
	entries catalogue.Catalogue[Entry]
	shipped catalogue.Catalogue[Entry] // of a folder without entries when there is no release
}

// Open returns the catalogue in the folder home (see internal/home). Nothing is created before the first Add.
func Open(home string) *Catalogue { return OpenWith(home, "") }

// OpenWith is Open with the workloads of the release in the folder shipped: an entry's path there is relative to that folder. One
// of the same name in home has precedence. Empty means no release.
func OpenWith(home, shipped string) *Catalogue {
	return &Catalogue{entries: in(filepath.Join(home, "workloads")), shipped: in(shipped)}
}

func in(dir string) catalogue.Catalogue[Entry] {
	return catalogue.Catalogue[Entry]{
		Dir: dir, Kind: "workload", Adding: "misstep workload add", Group: renaissanceName, CheckName: CheckName,
	}
}

func (c *Catalogue) dir() string { return c.entries.Dir }

// AddOptions are the options of Add; the zero value is valid.
type AddOptions struct {
	// Name that the manifest must have; empty accepts any.
	Name string
}

// Add copies the built workload in folder source into the catalogue, replacing an older one of the same name.
func (c *Catalogue) Add(ctx context.Context, source string, opts AddOptions) (Entry, error) {
	fail := func(err error) (Entry, error) {
		return Entry{}, fmt.Errorf("add workload %s: %w", source, err)
	}
	m, err := Load(source)
	if err != nil {
		return fail(err)
	}
	if opts.Name != "" && opts.Name != m.Name {
		return fail(fmt.Errorf("its %s calls it %q, not %q; change one of them", ManifestFile, m.Name, opts.Name))
	}
	if m.Harness == HarnessRenaissance || m.Name == renaissanceName {
		return fail(errors.New("the benchmarks of Renaissance are added from its jar, by `misstep workload add renaissance " +
			"--jar PATH`"))
	}
	path, digest, err := c.copyTree(ctx, source, m.Name)
	if err != nil {
		return fail(err)
	}
	if source, err = filepath.Abs(source); err != nil {
		return fail(err)
	}
	entry := entryOf(m, m.Name, path, digest, source)
	old, _ := c.Get(entry.Name)
	if err := c.entries.Put(entry); err != nil {
		return fail(err)
	}
	return entry, c.sweep(old.Path)
}

// AddAll adds source itself if it is a workload's folder, otherwise each workload in the folders directly below it, sorted by name.
func (c *Catalogue) AddAll(ctx context.Context, source string) ([]Entry, error) {
	if _, err := os.Stat(filepath.Join(source, ManifestFile)); err == nil {
		entry, err := c.Add(ctx, source, AddOptions{})
		return []Entry{entry}, err
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(source), "*", ManifestFile))
	if err != nil {
		return nil, fmt.Errorf("add workloads of %s: %w", source, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("add workloads: neither %s nor a folder in it has a %s; "+
			"build them with `mvn -q -f workloads/pom.xml package`", source, ManifestFile)
	}
	entries := make([]Entry, 0, len(found))
	for _, manifest := range found {
		entry, err := c.Add(ctx, filepath.Dir(manifest), AddOptions{})
		if err != nil {
			return entries, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// List returns all entries by name.
func (c *Catalogue) List() ([]Entry, error) {
	entries, err := c.entries.List()
	if err != nil || c.shipped.Dir == "" {
		return entries, err
	}
	shipped, err := c.shipped.List()
	if err != nil {
		return nil, fmt.Errorf("the release's: %w", err)
	}
	for _, s := range shipped {
		if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == s.Name }) {
			entries = append(entries, c.placed(s))
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

// placed is an entry of the release with its path.
func (c *Catalogue) placed(e Entry) Entry {
	e.Path = filepath.Join(c.shipped.Dir, e.Path)
	return e
}

// find returns the entry of that name, the release's if home has none.
func (c *Catalogue) find(name string) (Entry, error) {
	entry, err := c.entries.Get(name)
	if !errors.Is(err, catalogue.ErrUnknown) || c.shipped.Dir == "" {
		return entry, err
	}
	if shipped, shippedErr := c.shipped.Get(name); !errors.Is(shippedErr, catalogue.ErrUnknown) {
		return c.placed(shipped), shippedErr
	}
	return entry, err
}

// Get returns the entry of that name, whose folder is there; its error wraps catalogue.ErrUnknown if there is no entry.
func (c *Catalogue) Get(name string) (Entry, error) {
	entry, err := c.find(name)
	if err != nil {
		return entry, err
	}
	if _, err := os.Stat(entry.Path); err != nil {
		return entry, fmt.Errorf("workload %s: its files are missing, as after Misstep's home was moved: %w; "+
			"add it again (`misstep workload add`)", name, err)
	}
	return entry, nil
}

// ByDigest returns the first entry whose folder is there and has the digest. Benchmarks of Renaissance share one digest, so use Get
// if the name is known.
func (c *Catalogue) ByDigest(digest corpus.Digest) (Entry, bool) {
	entries, err := c.List()
	if err != nil {
		return Entry{}, false
	}
	same := slices.DeleteFunc(entries, func(e Entry) bool {
		_, err := os.Stat(e.Path)
		return e.Digest != digest || err != nil
	})
	if len(same) == 0 {
		return Entry{}, false
	}
	return same[0], true
}

// Remove removes a workload; "renaissance" removes all its benchmarks. A trial that is running it may fail.
func (c *Catalogue) Remove(name string) error {
	if name == renaissanceName {
		return c.removeRenaissance(nil)
	}
	entry, err := c.entries.Get(name)
	if err != nil {
		if _, shippedErr := c.find(name); shippedErr == nil {
			return fmt.Errorf("workload %s is part of this release (%s): it can be replaced by `misstep workload add`, but not "+
				"removed", name, c.shipped.Dir)
		}
		return err
	}
	if err := c.entries.Remove(name); err != nil {
		return err
	}
	return c.sweep(entry.Path)
}

// copyTree copies the folder source into the catalogue and returns the copy's path and digest. The copy is named after the digest,
// so that running trials keep an older build.
func (c *Catalogue) copyTree(ctx context.Context, source, name string) (string, corpus.Digest, error) {
	m, err := tree.Scan(source)
	if err != nil {
		return "", corpus.Digest{}, err
	}
	digest := m.Digest()
	dir, err := filepath.Abs(c.dir())
	if err != nil {
		return "", corpus.Digest{}, err
	}
	path := filepath.Join(dir, name+"@"+digest.Hex()[:16])
	err = tree.Fetch(ctx, tree.Source(source, m), digest, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", corpus.Digest{}, err
	}
	return path, digest, nil
}

// sweep removes the copied folder path unless an entry still refers to it.
func (c *Catalogue) sweep(path string) error {
	if path == "" {
		return nil
	}
	entries, err := c.List()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Path == path }) {
		return nil
	}
	dir, err := filepath.Abs(c.dir())
	if err != nil || filepath.Dir(path) != dir || !strings.Contains(filepath.Base(path), "@") {
		return nil // not one of the catalogue's copies, whatever the entry says
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove old workload files: %w", err)
	}
	return nil
}

func entryOf(m Manifest, name, path string, digest corpus.Digest, source string) Entry {
	return Entry{
		Name: name, Path: path, Digest: digest, Description: m.Description, Harness: m.Harness,
		MinFeature: m.MinFeature, NeedsCompiler: m.NeedsCompiler, Calibration: m.Calibration, Source: source,
	}
}
