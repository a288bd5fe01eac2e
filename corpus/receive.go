package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Receive copies r to w until io.EOF and returns the digest and size of the bytes: the one place where a blob's identity is
// established. The error is a *MismatchError when want is not zero and differs, wraps ErrTooLarge when r has more than limit
// bytes (limit <= 0: no limit), and is ctx's error when ctx ends first. On an error w may hold a part, which the caller
// discards.
func Receive(ctx context.Context, w io.Writer, r io.Reader, want Digest, limit int64) (Digest, int64, error) {
	hasher := NewHasher()
	source := io.Reader(&contextReader{ctx, r})
	if limit > 0 {
		source = io.LimitReader(source, limit+1)
	}
	if _, err := io.Copy(io.MultiWriter(hasher, w), source); err != nil {
		return Digest{}, 0, err
	}
	if limit > 0 && hasher.Size() > limit {
		return Digest{}, 0, fmt.Errorf("more than %d bytes: %w", limit, ErrTooLarge)
	}
	got := hasher.Digest()
	if !want.IsZero() && got != want {
		return Digest{}, 0, &MismatchError{Want: want, Got: got}
	}
	return got, hasher.Size(), nil
}

// VerifyReader returns a reader of r's bytes whose Read returns a *MismatchError instead of io.EOF when they do not have the
// digest want.
func VerifyReader(r io.ReadCloser, want Digest) io.ReadCloser {
	return &verifyingReader{ReadCloser: r, want: want, hasher: NewHasher()}
}

// Unverified returns what a reader of VerifyReader reads from, of which nothing must have been read; any other reader as it is. It
// is for parts of a blob, which the receiver verifies.
func Unverified(r io.Reader) io.Reader {
	if v, ok := r.(*verifyingReader); ok {
		return v.ReadCloser
	}
	return r
}

// ReadAll reads the whole blob. The error wraps ErrTooLarge when it has more than limit bytes.
func ReadAll(ctx context.Context, source Opener, digest Digest, limit int64) ([]byte, error) {
	r, _, err := source.Open(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", digest, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read blob %s: more than %d bytes: %w", digest, limit, ErrTooLarge)
	}
	return data, nil
}

type contextReader struct {
	ctx context.Context // lives for one copy
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

type verifyingReader struct {
	io.ReadCloser
	want   Digest
	hasher *Hasher
}

func (v *verifyingReader) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	_, _ = v.hasher.Write(p[:n])
	if errors.Is(err, io.EOF) {
		if got := v.hasher.Digest(); got != v.want {
			return n, &MismatchError{Want: v.want, Got: got}
		}
	}
	return n, err
}
