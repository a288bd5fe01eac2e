package corpus

import (
	"context"
	"time"
)

// SignedRequest is an HTTP request by which its holder reads or writes one blob of an object store without credentials. The zero
// value is no request.
type SignedRequest struct {
	// URL with the signature.
	URL string
	// Headers that are part of the signature, by name.
	Headers map[string]string
	// Expires is the time until which the object store accepts the request.
	Expires time.Time
	// Size of the blob in bytes.
	Size int64
}

// Signer is a store of blobs that can be read and written by signed requests. It is safe for concurrent use.
type Signer interface {
	// SignRead signs a GET, to which a Range may be added. The error wraps ErrNotFound when there is no such blob.
	SignRead(ctx context.Context, digest Digest) (SignedRequest, error)
	// SignWrite signs a PUT of a blob of size bytes; there is no request when the blob is stored already. The object store refuses
	// bytes of another size or digest.
	SignWrite(ctx context.Context, digest Digest, size int64) (SignedRequest, error)
}
