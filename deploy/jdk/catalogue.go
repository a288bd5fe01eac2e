// Package jdk keeps the catalogue of JDK builds that trials run on, and imports builds from folders, archives and Debian suites.
//
// The catalogue is in Misstep's home folder: jdks/NAME.json describes a build, jdks/NAME.manifest lists its files
// (corpus/FORMAT.md), jdks/NAME/ holds the files if they were copied. A build's identity is its tree's digest, so the same files
// have the same digest on each machine.
package jdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"misstep/catalogue"
	"misstep/corpus"
	"misstep/corpus/tree"
)

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
	// Digest of the tree manifest of its files.
	Digest corpus.Digest `json:"digest"`
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
	// HasCompiler reports whether bin/javac exists.
	HasCompiler bool `json:"has_compiler"`
	// Packages that it was assembled from, as file names with versions; for Debian sources.
	Packages []string `json:"packages,omitempty"`
	// Unresolved shared libraries ("lib/libfontmanager.so needs libfreetype.so.6") of parts that were not needed to start;
	// for Debian sources.
	Unresolved []string `json:"unresolved,omitempty"`
}

// record is an Entry as it is stored.
type record struct {
	Entry
	// Tree is the folder that the digest covers; it differs from Path if programs had to be adapted to their location.
	Tree string `json:"tree"`
	// Fingerprint of Tree and Path when they were last verified.
	Fingerprint corpus.Digest `json:"fingerprint"`
	// Flags maps its JVM's flags to their kinds; see Catalogue.Flags.
	Flags map[string]string `json:"flags,omitempty"`
}

// EntryName implements catalogue.Entry.
func (e Entry) EntryName() string { return e.Name }

// TreeDigest implements catalogue.Entry.
func (e Entry) TreeDigest() corpus.Digest { return e.Digest }

// Catalogue is the set of known JDK builds in a home folder. It holds no state: several processes may use it at once.
type Catalogue struct {
	home    string
	entries catalogue.Catalogue[record]
}

// Open returns the catalogue in the folder home (see internal/home). Nothing is created before the first Add.
func Open(home string) *Catalogue {
	return &Catalogue{home: home, entries: catalogue.Catalogue[record]{
		Dir: filepath.Join(home, "jdks"), Kind: "JDK", Adding: "misstep jdk add NAME SOURCE", CheckName: CheckName,
	}}
}

func (c *Catalogue) dir() string { return c.entries.Dir }

func (c *Catalogue) file(name, suffix string) string { return filepath.Join(c.dir(), name+suffix) }

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

// CheckName returns what is wrong with the name of a build, nil if it is valid.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("name %.100q: want 1 to 64 letters, digits and \"._+-\", the first a letter or digit", name)
	}
	return nil
}

// List returns all entries, by feature version and name. It does not look at the builds' files.
func (c *Catalogue) List() ([]Entry, error) {
	records, err := c.entries.List()
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, r := range records {
		entries = append(entries, r.Entry)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Feature, b.Feature) })
	return entries, nil
}

// Get returns the entry of that name after checking that its files are those that were added: by names, sizes and times; by reading
// them all if these have changed. The error wraps catalogue.ErrUnknown when there is no such entry.
func (c *Catalogue) Get(name string) (Entry, error) {
	r, err := c.entries.Get(name)
	if err != nil {
		return Entry{}, err
	}
	if r, err = c.verify(r); err != nil {
		return Entry{}, fmt.Errorf("JDK %q: %w", name, err)
	}
	return r.Entry, nil
}

// ByDigest returns an entry with that tree digest whose files are unchanged.
func (c *Catalogue) ByDigest(digest corpus.Digest) (Entry, bool) {
	for _, r := range c.entries.ByDigest(digest) {
		if verified, err := c.Get(r.Name); err == nil {
			return verified, true
		}
	}
	return Entry{}, false
}

// Remove removes the entry and the files that Add copied; a folder that was referenced in place is kept. The error wraps
// catalogue.ErrUnknown when there is no such entry.
func (c *Catalogue) Remove(name string) error {
	// The record is removed first, so that the remains of an interrupted removal do no harm.
	if err := c.entries.Remove(name); err != nil {
		return err
	}
	for _, suffix := range []string{".manifest", ""} {
		if err := os.RemoveAll(c.file(name, suffix)); err != nil {
			return fmt.Errorf("remove JDK %q: %w", name, err)
		}
	}
	return nil
}

// Sources returns sources that serve the files of all entries by digest, in place.
func (c *Catalogue) Sources() ([]corpus.Source, error) {
	records, err := c.entries.List()
	if err != nil {
		return nil, err
	}
	var sources []corpus.Source
	for _, r := range records {
		m, err := c.manifest(r)
		if err != nil {
			return nil, fmt.Errorf("serve JDK %q: %w", r.Name, err)
		}
		sources = append(sources, tree.Source(r.Tree, m))
	}
	return sources, nil
}

// Tree returns the folder that the digest of the build name covers, and its manifest.
func (c *Catalogue) Tree(name string) (dir string, m tree.Manifest, err error) {
	r, err := c.entries.Get(name)
	if err != nil {
		return "", tree.Manifest{}, err
	}
	if m, err = c.manifest(r); err != nil {
		return "", tree.Manifest{}, fmt.Errorf("JDK %q: %w", name, err)
	}
	return r.Tree, m, nil
}

// Push stores those files of the build name that store lacks.
func (c *Catalogue) Push(ctx context.Context, store corpus.Store, name string) error {
	r, err := c.entries.Get(name)
	if err != nil {
		return fmt.Errorf("send: %w", err)
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
	if got := m.Digest(); got != r.Digest {
		return tree.Manifest{}, fmt.Errorf("the manifest in %s has digest %s, not %s; remove the JDK and add it again", c.dir(),
			got,
			r.Digest)
	}
	return m, nil
}

// verify compares the build's files with what was added, cheaply when their names, sizes and times are the same.
func (c *Catalogue) verify(r record) (record, error) {
	if _, err := os.Stat(filepath.Join(r.Path, "bin", "java")); err != nil {
		return record{}, fmt.Errorf("its files are missing: %w; remove it (`misstep jdk rm %s`) and add it again", err, r.Name)
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
	if got := m.Digest(); got != r.Digest {
		return record{}, fmt.Errorf("the files in %s have changed since it was added (digest %s, was %s); "+
			"remove it (`misstep jdk rm %s`) and add it again", r.Tree, got, r.Digest, r.Name)
	}
	r.Fingerprint = fingerprint
	// If the catalogue is not writable, the next check reads all files once more.
	if err := c.entries.Put(r); err != nil && !errors.Is(err, fs.ErrPermission) {
		return record{}, err
	}
	return r, nil
}

// inline selects the links that a scan of a JDK in place replaces by their targets. Debian keeps conf in /etc, which belongs to the
// build; the host's certificates and the documentation under /usr/share/doc do not.
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
