// Package catalogue stores descriptions of trees of files under names: one JSON file per entry, in one folder. What the trees are,
// and where, is up to the catalogues on top of it (deploy/jdk, workloads).
package catalogue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"misstep/corpus"
	"misstep/internal/atomicfile"
	"misstep/internal/suggest"
)

// ErrUnknown is wrapped by errors about a name that is not in the catalogue.
var ErrUnknown = errors.New("not in the catalogue")

// maxEntryBytes bounds the file of an entry. That of a JDK, with its flags, has about 60 KiB.
const maxEntryBytes = 4 << 20

// maxListed bounds the names that an error lists.
const maxListed = 20

// Entry is what a catalogue needs to know about its entries.
type Entry interface {
	// EntryName returns the entry's unique name, which is also the name of its file.
	EntryName() string
	// TreeDigest returns the digest of the manifest of its files (corpus/tree).
	TreeDigest() corpus.Digest
}

// Catalogue stores entries of type E. It has no state in memory: any number of processes may share its folder.
type Catalogue[E Entry] struct {
	// Dir is the folder: the file of an entry is Dir/NAME.json. It is created by the first Put.
	Dir string
	// Kind is the word for an entry in errors: "JDK".
	Kind string
	// Adding is the command that adds an entry, for errors: "misstep jdk add NAME SOURCE".
	Adding string
	// Group is a folder inside of Dir with further entries, whose names are Group/NAME; empty means none.
	Group string
	// CheckName returns what is wrong with a name without its group, or nil. It must refuse what is not a plain file name.
	CheckName func(name string) error
}

// Get returns the entry of that name. If there is none, the error wraps ErrUnknown and lists the names that there are.
func (c Catalogue[E]) Get(name string) (E, error) {
	entry, err := c.load(name)
	if errors.Is(err, ErrUnknown) {
		err = c.unknown(name, err)
	}
	if err != nil {
		return entry, fmt.Errorf("%s %.100q: %w", c.Kind, name, err)
	}
	return entry, nil
}

// List returns all entries, sorted by name.
func (c Catalogue[E]) List() ([]E, error) {
	names, err := c.names()
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", c.Kind, err)
	}
	var entries []E
	for _, name := range names {
		entry, err := c.load(name)
		if errors.Is(err, ErrUnknown) {
			continue // removed in the meantime, or not the file of an entry
		}
		if err != nil {
			return nil, fmt.Errorf("list %ss: %s: %w", c.Kind, name, err)
		}
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b E) int { return cmp.Compare(a.EntryName(), b.EntryName()) })
	return entries, nil
}

// ByDigest returns the entries whose files have that digest, sorted by name; none if the catalogue cannot be read.
func (c Catalogue[E]) ByDigest(digest corpus.Digest) []E {
	entries, err := c.List()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(entries, func(e E) bool { return e.TreeDigest() != digest })
}

// Put stores the entry, completely or not at all, and replaces an entry of the same name.
func (c Catalogue[E]) Put(entry E) error {
	name := entry.EntryName()
	err := c.put(name, entry)
	if err != nil {
		return fmt.Errorf("%s %.100q: %w", c.Kind, name, err)
	}
	return nil
}

func (c Catalogue[E]) put(name string, entry E) error {
	file, err := c.file(name)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(entry, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(file, append(text, '\n'), 0o644)
}

// Remove deletes the entry of that name, damaged or not, but not the files that it describes. If there is none, the error is that
// of Get.
func (c Catalogue[E]) Remove(name string) error {
	file, err := c.file(name)
	if err == nil {
		err = os.Remove(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrUnknown
	}
	if errors.Is(err, ErrUnknown) {
		err = c.unknown(name, err)
	}
	if err != nil {
		return fmt.Errorf("remove %s %.100q: %w", c.Kind, name, err)
	}
	return nil
}

// names returns the names of the existing files, in no particular order.
func (c Catalogue[E]) names() ([]string, error) {
	folders := []string{""}
	if c.Group != "" {
		folders = append(folders, c.Group)
	}
	var names []string
	for _, folder := range folders {
		files, err := fs.Glob(os.DirFS(filepath.Join(c.Dir, folder)), "*.json") // not filepath.Glob: Dir may have a "[" in its name
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			names = append(names, path.Join(folder, strings.TrimSuffix(file, ".json")))
		}
	}
	return names, nil
}

// file returns the path of the entry's file; the error wraps ErrUnknown if name is not a valid name.
func (c Catalogue[E]) file(name string) (string, error) {
	plain, folder := name, ""
	if c.Group != "" {
		if rest, ok := strings.CutPrefix(name, c.Group+"/"); ok {
			plain, folder = rest, c.Group
		}
	}
	if err := c.CheckName(plain); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return filepath.Join(c.Dir, folder, plain+".json"), nil
}

func (c Catalogue[E]) load(name string) (entry E, err error) {
	file, err := c.file(name)
	if err != nil {
		return entry, err
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return entry, ErrUnknown
	}
	if err == nil && info.Size() > maxEntryBytes {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxEntryBytes)
	}
	if err != nil {
		return entry, err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return entry, ErrUnknown
	}
	if err != nil {
		return entry, err
	}
	err = json.Unmarshal(text, &entry)
	if err == nil && (entry.EntryName() != name || entry.TreeDigest().IsZero()) {
		err = fmt.Errorf("it contains %.100q with digest %q", entry.EntryName(), entry.TreeDigest())
	}
	if err != nil {
		return entry, fmt.Errorf("%s is damaged; remove it and add the %s again: %w", file, c.Kind, err)
	}
	return entry, nil
}

// unknown adds the existing names to err.
func (c Catalogue[E]) unknown(name string, err error) error {
	names, reading := c.names()
	if reading != nil || len(names) == 0 {
		return fmt.Errorf("%w; it is empty: `%s` adds one (to %s)", err, c.Adding, c.Dir)
	}
	slices.Sort(names)
	meant := ";"
	if near := suggest.Nearest(name, names); near != "" {
		meant = fmt.Sprintf(", did you mean %s?", near)
	}
	more := ""
	if len(names) > maxListed {
		names, more = names[:maxListed], ", …"
	}
	return fmt.Errorf("%w%s it has %s%s; `%s` adds one (to %s)", err, meant, strings.Join(names, ", "), more, c.Adding, c.Dir)
}
