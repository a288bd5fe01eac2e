// Package corpus keeps blobs by the SHA-256 of their bytes, so that what is read back is what was written.
//
// Everything that Misstep hands around by digest lives in a corpus: evidence of trials, JDK builds and workloads (as
// trees, see the package tree), reproducers. FORMAT.md describes the formats; the package corpustest holds the suite
// that each Store passes.
package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// MaxBlob is the size in bytes that every store accepts at least and that the network service accepts at most: 2 GiB, four times the
// largest file of the JDK builds seen (the debug symbols of libjvm).
const MaxBlob = 2 << 30

// ErrNotFound says that no blob with the asked digest is stored.
var ErrNotFound = errors.New("blob not found")

// ErrTooLarge says that a blob exceeds a bound; nothing of it was stored.
var ErrTooLarge = errors.New("blob too large")

// MismatchError says that bytes do not have the digest that they were announced or stored under.
type MismatchError struct {
	// Want is the digest that was announced.
	Want Digest
	// Got is the digest that the bytes have.
	Got Digest
}

// Error names both digests.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("bytes have digest %s, not %s as announced", e.Got, e.Want)
}

// Opener gives blobs. It is safe for concurrent use.
type Opener interface {
	// Open returns the blob's bytes and its size. The caller closes the reader. When the end is reached the reader has
	// verified the digest: its last Read returns a *MismatchError instead of io.EOF when the bytes are others. The error
	// wraps ErrNotFound when there is no such blob.
	Open(ctx context.Context, digest Digest) (io.ReadCloser, int64, error)
}

// Source is an Opener that reports which blobs it has.
type Source interface {
	Opener
	// Missing returns those of digests that cannot be opened, in the order given.
	Missing(ctx context.Context, digests []Digest) ([]Digest, error)
}

// Store is a Source that takes blobs too.
type Store interface {
	Source
	// Put stores what r gives until io.EOF and returns its digest and size in bytes. When want is not zero the bytes must
	// have that digest, else the error is a *MismatchError. A blob becomes visible whole and verified or not at all;
	// putting a stored blob again is harmless. Put does not close r.
	Put(ctx context.Context, r io.Reader, want Digest) (Digest, int64, error)
}
