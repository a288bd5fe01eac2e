// Package tree describes a folder by one blob, its manifest, so that a JDK or a workload has one digest and can be transferred file
// by file.
//
// corpus/FORMAT.md specifies the manifest's text. Scan reads a folder, Push stores it in a corpus, Fetch restores it, Source serves
// it in place.
package tree

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"misstep/corpus"
)

// Bounds of a manifest. Scan and Parse refuse what exceeds them.
const (
	MaxEntries = 200_000  // a JDK's sources have 70,000 files
	MaxText    = 64 << 20 // bytes of the manifest
	MaxBytes   = 16 << 30 // of all files together
	maxPath    = 4095     // bytes, Linux's PATH_MAX without the final NUL
	maxName    = 255      // bytes, NAME_MAX
	maxDepth   = 128
)

const header = "misstep-tree 1\n"

// Kind is the kind of an Entry.
type Kind int

// Kinds of entries. Of a file's mode only whether it is executable is stored.
const (
	KindUnspecified Kind = iota
	KindDir
	KindFile
	KindExecutable
	KindLink
)

var kindWords = map[Kind]string{KindDir: "dir", KindFile: "file", KindExecutable: "exec", KindLink: "link"}

// String returns the word that the manifest's text uses.
func (k Kind) String() string { return kindWords[k] }

// Entry is one folder, file or symbolic link of a tree.
type Entry struct {
	Kind Kind
	// Path from the tree's root, with slashes.
	Path string
	// Size in bytes and Digest of a file.
	Size   int64
	Digest corpus.Digest
	// Target of a link, relative to the link's folder.
	Target string
}

func (e Entry) isFile() bool { return e.Kind == KindFile || e.Kind == KindExecutable }

// Manifest lists a tree's entries in canonical order. It is immutable and valid by construction; the zero value is the
// empty tree.
type Manifest struct {
	entries []Entry
}

// New makes a manifest of entries in any order. The error names the entry that breaks a rule of FORMAT.md.
func New(entries []Entry) (Manifest, error) {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	if err := check(sorted); err != nil {
		return Manifest{}, err
	}
	return Manifest{entries: sorted}, nil
}

// Parse reads a manifest's text, accepting only the canonical form.
func Parse(text []byte) (Manifest, error) {
	if len(text) > MaxText {
		return Manifest{}, fmt.Errorf("tree manifest: %d bytes, at most %d are allowed", len(text), MaxText)
	}
	rest, ok := bytes.CutPrefix(text, []byte(header))
	if !ok {
		return Manifest{}, fmt.Errorf("tree manifest: does not begin with %q", header)
	}
	if n := bytes.Count(rest, []byte("\n")); n > MaxEntries {
		return Manifest{}, fmt.Errorf("tree manifest: %d entries, at most %d are allowed", n, MaxEntries)
	}
	var entries []Entry
	for number := 2; len(rest) > 0; number++ {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found {
			return Manifest{}, fmt.Errorf("tree manifest, line %d: cut off", number)
		}
		entry, err := parseLine(string(line))
		if err != nil {
			return Manifest{}, fmt.Errorf("tree manifest, line %d: %w", number, err)
		}
		entries, rest = append(entries, entry), after
	}
	if err := check(entries); err != nil {
		return Manifest{}, fmt.Errorf("tree manifest: %w", err)
	}
	m := Manifest{entries: entries}
	if !bytes.Equal(m.Bytes(), text) {
		return Manifest{}, fmt.Errorf(
			"tree manifest: not in canonical form (spaces, digits or escapes differ from what Bytes writes)",
		)
	}
	return m, nil
}

func parseLine(line string) (Entry, error) {
	fields := strings.Split(line, " ")
	want := map[string]int{"dir": 2, "file": 4, "exec": 4, "link": 3}[fields[0]]
	if want == 0 || len(fields) != want {
		return Entry{}, fmt.Errorf("%.100q: expected \"dir PATH\", \"file|exec SIZE DIGEST PATH\" or \"link PATH TARGET\"", line)
	}
	var (
		entry Entry
		err   error
		path  = fields[1]
	)
	switch fields[0] {
	case "dir":
		entry.Kind = KindDir
	case "link":
		entry.Kind = KindLink
		if entry.Target, err = unescape(fields[2]); err != nil {
			return Entry{}, err
		}
	default:
		entry.Kind = KindFile
		if fields[0] == "exec" {
			entry.Kind = KindExecutable
		}
		if entry.Size, err = strconv.ParseInt(fields[1], 10, 64); err != nil {
			return Entry{}, fmt.Errorf("size %.30q: %w", fields[1], err)
		}
		if entry.Digest, err = corpus.ParseDigest(fields[2]); err != nil {
			return Entry{}, err
		}
		path = fields[3]
	}
	entry.Path, err = unescape(path)
	return entry, err
}

// Bytes returns the canonical text.
func (m Manifest) Bytes() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	for _, e := range m.entries {
		switch e.Kind {
		case KindDir:
			fmt.Fprintf(&b, "dir %s\n", escape(e.Path))
		case KindLink:
			fmt.Fprintf(&b, "link %s %s\n", escape(e.Path), escape(e.Target))
		default:
			fmt.Fprintf(&b, "%s %d %s %s\n", e.Kind, e.Size, e.Digest, escape(e.Path))
		}
	}
	return b.Bytes()
}

// Digest returns the tree's identity: the digest of Bytes.
func (m Manifest) Digest() corpus.Digest { return corpus.DigestBytes(m.Bytes()) }

// Entries returns the entries in order of their paths; a folder comes before its contents.
func (m Manifest) Entries() iter.Seq[Entry] { return slices.Values(m.entries) }

// Len returns the number of entries.
func (m Manifest) Len() int { return len(m.entries) }

// Size returns the bytes of all files together.
func (m Manifest) Size() int64 {
	var sum int64
	for _, e := range m.entries {
		sum += e.Size
	}
	return sum
}

// Lookup returns the entry at path.
func (m Manifest) Lookup(path string) (Entry, bool) {
	i, found := slices.BinarySearchFunc(m.entries, path, func(e Entry, p string) int { return strings.Compare(e.Path, p) })
	if !found {
		return Entry{}, false
	}
	return m.entries[i], true
}

const hexDigits = "0123456789ABCDEF"

// escape writes bytes outside of '!'…'~', and '%', as "%XX".
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%.100q: incomplete escape", s)
		}
		value, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("%.100q: escape %q is not a byte in hexadecimal", s, s[i:i+3])
		}
		b.WriteByte(byte(value))
		i += 2
	}
	return b.String(), nil
}
