// Package index lists the bundles that a corpus holds. It knows their blobs, not what is in them.
//
// An index only grows, and its entries are named by their digests, so merging two indexes is a union: it is idempotent and
// commutative, and overwrites nothing.
package index

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"misstep/corpus"
)

// MaxEntry bounds the text of an entry, in bytes.
const MaxEntry = 4 << 10

// Blob names a blob that an entry needs.
type Blob struct {
	Digest corpus.Digest
	Size   int64
}

// Entry records that a corpus holds the bundle of a finding. Its text is canonical, so an entry has one digest.
type Entry struct {
	// Finding is the id of the finding.
	Finding string
	Bundle  Blob
	// Signature of the bundle; zero when it is not signed. The same bundle with and without a signature are two entries.
	Signature Blob
	// Shared files of the bundle, in the order of their digests; see bundle.Bundle.Shared.
	Shared []Blob
}

const entryLine = "misstep-entry 1"

// Text returns the canonical text.
func (e Entry) Text() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nfinding %s\nbundle %d %s\n", entryLine, e.Finding, e.Bundle.Size, e.Bundle.Digest)
	if !e.Signature.Digest.IsZero() {
		fmt.Fprintf(&b, "signature %d %s\n", e.Signature.Size, e.Signature.Digest)
	}
	for _, shared := range e.Shared {
		fmt.Fprintf(&b, "shared %d %s\n", shared.Size, shared.Digest)
	}
	return []byte(b.String())
}

// Digest returns the digest of the text.
func (e Entry) Digest() corpus.Digest { return corpus.DigestBytes(e.Text()) }

// Blobs returns the blobs that the entry needs, the signature first: it is small and may save reading the bundle.
func (e Entry) Blobs() []Blob {
	var blobs []Blob
	if !e.Signature.Digest.IsZero() {
		blobs = append(blobs, e.Signature)
	}
	return append(append(blobs, e.Bundle), e.Shared...)
}

// ParseEntry reads what Text writes, and accepts nothing else.
func ParseEntry(text []byte) (Entry, error) {
	if len(text) > MaxEntry {
		return Entry{}, fmt.Errorf("index entry: %d bytes, at most %d: %w", len(text), MaxEntry, corpus.ErrTooLarge)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != entryLine {
		return Entry{}, fmt.Errorf("index entry: first line %.40q: this Misstep reads %q, a newer one is needed",
			lines[0], entryLine)
	}
	var e Entry
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, " ")
		var err error
		switch key {
		case "finding":
			e.Finding = value
		case "bundle":
			e.Bundle, err = parseBlob(value)
		case "signature":
			e.Signature, err = parseBlob(value)
		case "shared":
			var shared Blob
			shared, err = parseBlob(value)
			e.Shared = append(e.Shared, shared)
		default:
			err = errors.New("unknown key")
		}
		if err != nil {
			return Entry{}, fmt.Errorf("index entry: line %.100q: %w", line, err)
		}
	}
	if !ValidFinding(e.Finding) {
		return Entry{}, fmt.Errorf("index entry: finding %.40q: expected an id such as F598b0c04d78c", e.Finding)
	}
	if e.Bundle.Digest.IsZero() || string(e.Text()) != string(text) {
		return Entry{}, errors.New("index entry: the text is not canonical, or names no bundle")
	}
	return e, nil
}

func parseBlob(value string) (Blob, error) {
	size, text, _ := strings.Cut(value, " ")
	digest, err := corpus.ParseDigest(text)
	if err != nil {
		return Blob{}, err
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 0 || n > corpus.MaxBlob {
		return Blob{}, fmt.Errorf("size %.20q: expected bytes, at most %d", size, int64(corpus.MaxBlob))
	}
	return Blob{Digest: digest, Size: n}, nil
}

// ValidFinding reports whether id has the form of a finding's id, which is safe as part of a file name.
func ValidFinding(id string) bool {
	if len(id) < 2 || len(id) > 64 || id[0] != 'F' {
		return false
	}
	for _, c := range id[1:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
