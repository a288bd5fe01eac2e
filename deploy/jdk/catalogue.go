// Package jdk keeps the catalogue of JDK builds that trials run on, and imports builds from folders, archives and Debian suites.
//
// The catalogue lies in Misstep's home folder: jdks/NAME.json says what a build is, jdks/NAME.manifest lists its files
// (corpus/FORMAT.md), jdks/NAME/ holds the files when they were copied. A build's identity is its tree's digest, so the
// same files have the same digest on each machine.
package jdk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"misstep/corpus"
	"misstep/corpus/tree"
)

// ErrUnknown says that the catalogue has no JDK of that name.
var ErrUnknown = errors.New("no such JDK in the catalogue")

// Entry describes one JDK build.
type Entry struct {
	// Name in the catalogue.
	Name string `json:"name"`
	// Source that it was added from: a folder, an archive's path or URL, or "debian:openjdk-N@SUITE".
	Source string `json:"source"`
	// SHA256 of the archive in hexadecimal digits; empty for other sources.
	SHA256 string `json:"sha256,omitempty"`
	// Path of the folder to run: JAVA_HOME.
	Path string `json:"path"`
	// Digest of the tree manifest of its files, "sha256:" and 64 hexadecimal digits.
	Digest string `json:"digest"`
	// Size of its files in bytes.
	Size int64 `json:"size"`
	// Version is the line that -Xinternalversion prints.
	Version string `json:"version"`
	// Vendor as the build names it, e.g. "Eclipse Adoptium".
	Vendor string `json:"vendor"`
	// Feature version, e.g. 17.
	Feature int `json:"feature"`
	// Release holds the keys of the file release, unquoted; nil when the build has none.
	Release map[string]string `json:"release,omitempty"`
	// HasCompiler tells whether bin/javac is there.
	HasCompiler bool `json:"has_compiler"`
	// Packages that it was made of, as file names with versions; for Debian sources.
	Packages []string `json:"packages,omitempty"`
	// Unresolved shared libraries ("lib/libfontmanager.so needs libfreetype.so.6") of parts that were not needed to start;
	// for Debian sources.
	Unresolved []string `json:"unresolved,omitempty"`
}

// record is an Entry as it is stored.
type record struct {
	Entry
	// Tree is the folder that the digest is about; it differs from Path where executables had to be adapted to their place.
	Tree string `json:"tree"`
	// Fingerprint of Tree and Path when they were last verified.
	Fingerprint corpus.Digest `json:"fingerprint"`
	// Flags of its JVM to their kind; see Catalogue.Flags.
	Flags map[string]string `json:"flags,omitempty"`
}

// Catalogue is the set of known JDK builds in a home folder. It holds no state: several processes may use one at a time.
type Catalogue struct {
	home string
}

// Open returns the catalogue in the folder home (see internal/home). Nothing is created before the first Add.
func Open(home string) *Catalogue { return &Catalogue{home: home} }

func (c *Catalogue) dir() string { return filepath.Join(c.home, "jdks") }

func (c *Catalogue) file(name, suffix string) string { return filepath.Join(c.dir(), name+suffix) }

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("name %.100q: want 1 to 64 of letters, digits, and \"._+-\" inside", name)
	}
	return nil
}

// List returns all entries, by feature version and name. It does not look at the builds' files.
func (c *Catalogue) List() ([]Entry, error) {
	names, err := fs.Glob(os.DirFS(c.dir()), "*.json") // not filepath.Glob: the folder may have a "[" in its name
	if err != nil {
		return nil, fmt.Errorf("list JDKs: %w", err)
	}
	var entries []Entry
	for _, name := range names {
		r, err := c.load(strings.TrimSuffix(name, ".json"))
		if errors.Is(err, ErrUnknown) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list JDKs: %w", err)
		}
		entries = append(entries, r.Entry)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Feature, b.Feature), cmp.Compare(a.Name, b.Name))
	})
	return entries, nil
}

// Get returns the entry of that name after making sure that its files are those that were added: by names, sizes and times;
// by reading them all when these have changed. The error wraps ErrUnknown when there is no such entry.
func (c *Catalogue) Get(name string) (Entry, error) {
	r, err := c.load(name)
	if errors.Is(err, ErrUnknown) {
		return Entry{}, fmt.Errorf("JDK %q: %w; %s", name, err, c.remedy())
	}
	if err == nil {
		r, err = c.verify(r)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("JDK %q: %w", name, err)
	}
	return r.Entry, nil
}

// ByDigest returns an entry with that tree digest ("sha256:…") whose files are as they were added.
func (c *Catalogue) ByDigest(digest string) (Entry, bool) {
	entries, err := c.List()
	if err != nil {
		return Entry{}, false
	}
	for _, e := range entries {
		if e.Digest != digest {
			continue
		}
		if verified, err := c.Get(e.Name); err == nil {
			return verified, true
		}
	}
	return Entry{}, false
}

// Remove forgets the entry and deletes the files that Add copied; a folder that was referenced in place stays.
func (c *Catalogue) Remove(name string) error {
	if _, err := c.load(name); errors.Is(err, ErrUnknown) {
		return fmt.Errorf("remove JDK %q: %w; %s", name, err, c.remedy())
	}
	// The record goes first: what is left of an interrupted removal is in nobody's way.
	for _, suffix := range []string{".json", ".manifest", ""} {
		if err := os.RemoveAll(c.file(name, suffix)); err != nil {
			return fmt.Errorf("remove JDK %q: %w", name, err)
		}
	}
	return nil
}

// Sources serve the files of all entries by digest, from where they lie.
func (c *Catalogue) Sources() ([]corpus.Source, error) {
	entries, err := c.List()
	if err != nil {
		return nil, err
	}
	var sources []corpus.Source
	for _, e := range entries {
		r, err := c.load(e.Name)
		if err != nil {
			return nil, fmt.Errorf("serve JDK %q: %w", e.Name, err)
		}
		m, err := c.manifest(r)
		if err != nil {
			return nil, fmt.Errorf("serve JDK %q: %w", e.Name, err)
		}
		sources = append(sources, tree.Source(r.Tree, m))
	}
	return sources, nil
}

// Push puts into store what it lacks of the files of the build name.
func (c *Catalogue) Push(ctx context.Context, store corpus.Store, name string) error {
	r, err := c.load(name)
	if err != nil {
		return fmt.Errorf("send JDK %q: %w", name, err)
	}
	m, err := c.manifest(r)
	if err != nil {
		return fmt.Errorf("send JDK %q: %w", name, err)
	}
	if err := tree.Push(ctx, store, r.Tree, m); err != nil {
		return fmt.Errorf("send JDK %q: %w", name, err)
	}
	return nil
}

func (c *Catalogue) manifest(r record) (tree.Manifest, error) {
	text, err := os.ReadFile(c.file(r.Name, ".manifest"))
	if err != nil {
		return tree.Manifest{}, err
	}
	m, err := tree.Parse(text)
	if err != nil {
		return tree.Manifest{}, err
	}
	if got := m.Digest().String(); got != r.Digest {
		return tree.Manifest{}, fmt.Errorf("the manifest in %s has digest %s, not %s; remove the JDK and add it again", c.dir(), got, r.Digest)
	}
	return m, nil
}

func (c *Catalogue) remedy() string {
	entries, err := c.List()
	if err != nil || len(entries) == 0 {
		return "it is empty: `misstep jdk add NAME SOURCE` adds one"
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return "it has " + strings.Join(names, ", ") + "; `misstep jdk add NAME SOURCE` adds one"
}

func (c *Catalogue) load(name string) (record, error) {
	if err := checkName(name); err != nil {
		return record{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	data, err := os.ReadFile(c.file(name, ".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, ErrUnknown
	}
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("%s: %w", c.file(name, ".json"), err)
	}
	return r, nil
}

// save writes the record whole or not at all.
func (c *Catalogue) save(r record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(c.file(r.Name, ".json"), append(data, '\n'))
}

func writeFile(name string, data []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), ".write-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// verify compares the build's files with what was added, cheaply when their names, sizes and times are the same.
func (c *Catalogue) verify(r record) (record, error) {
	if _, err := os.Stat(filepath.Join(r.Path, "bin", "java")); err != nil {
		return record{}, fmt.Errorf("its files are gone: %w; remove it (`misstep jdk rm %s`) and add it again", err, r.Name)
	}
	fingerprint, err := fingerprint(r.Tree, r.Path)
	if err != nil {
		return record{}, err
	}
	if fingerprint == r.Fingerprint {
		return r, nil
	}
	m, err := scan(r.Tree)
	if err != nil {
		return record{}, err
	}
	if got := m.Digest().String(); got != r.Digest {
		return record{}, fmt.Errorf("the files in %s have changed since it was added (digest %s, was %s); remove it (`misstep jdk rm %s`) and add it again", r.Tree, got, r.Digest, r.Name)
	}
	r.Fingerprint = fingerprint
	// Where the catalogue is not ours to write, the next look reads all files once more.
	if err := c.save(r); err != nil && !errors.Is(err, fs.ErrPermission) {
		return record{}, err
	}
	return r, nil
}

// inline is how a JDK in place is scanned. Debian keeps conf in /etc, which belongs to the build; the host's certificates and
// the documentation under /usr/share/doc do not.
var inline = tree.InlineOutside(func(_, target string) bool {
	return !strings.Contains(target, "/etc/ssl/") && !strings.Contains(target, "/usr/share/doc/")
})

func scan(dir string) (tree.Manifest, error) { return tree.Scan(dir, inline) }

func fingerprint(dirs ...string) (corpus.Digest, error) {
	var all []byte
	for _, dir := range slices.Compact(dirs) {
		d, err := tree.Fingerprint(dir, inline)
		if err != nil {
			return corpus.Digest{}, err
		}
		all = append(all, d.String()...)
	}
	return corpus.DigestBytes(all), nil
}
