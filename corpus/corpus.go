// Package corpus stores blobs by the SHA-256 of their bytes, so that the bytes read are the bytes written.
//
// Everything that Misstep passes around by digest is in a corpus: evidence of trials, JDK builds and workloads (as
// trees, see the package tree), reproducers. FORMAT.md specifies the formats; the package corpustest holds the test suite
// that each Store passes.
package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// MaxBlob is the largest size in bytes that every store must accept and that the network service accepts: 2 GiB, four times the
// largest file of the JDK builds seen (the debug symbols of libjvm).
const MaxBlob = 2 << 30

// ErrNotFound means that no blob with the requested digest is stored.
var ErrNotFound = errors.New("blob not found")

// ErrTooLarge means that a blob exceeds a bound; nothing of it was stored.
var ErrTooLarge = errors.New("blob too large")

// ErrUnavailable means that a store did not work, after it was tried several times, and may work later.
var ErrUnavailable = errors.New("the object store is not available")

// MismatchError means that bytes do not have the digest under which they were announced or stored.
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

// Opener opens blobs. It is safe for concurrent use.
type Opener interface {
	// Open returns the blob's bytes and its size. The caller closes the reader. The reader verifies the digest:
	// its last Read returns a *MismatchError instead of io.EOF when the bytes do not have it. The error wraps ErrNotFound
	// when there is no such blob.
	Open(ctx context.Context, digest Digest) (io.ReadCloser, int64, error)
}

// Source is an Opener that reports which blobs it has.
type Source interface {
	Opener
	// Missing returns the digests of those blobs that cannot be opened, in the order given.
	Missing(ctx context.Context, digests []Digest) ([]Digest, error)
}

// Store is a Source that also accepts blobs.
type Store interface {
	Source
	// Put stores the bytes of r until io.EOF and returns their digest and size in bytes. When want is not zero the bytes must
	// have that digest, otherwise the error is a *MismatchError. A blob becomes visible whole and verified or not at all;
	// putting a stored blob again changes nothing. Put does not close r.
	Put(ctx context.Context, r io.Reader, want Digest) (Digest, int64, error)
}
