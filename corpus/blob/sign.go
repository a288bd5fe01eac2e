package blob

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"

	"misstep/corpus"
)

// signedFor is how long a signed request is valid. It must begin within this time, and may last longer.
const signedFor = 15 * time.Minute

var _ corpus.Signer = (*Store)(nil)

// SignRead implements corpus.Signer.
func (s *Store) SignRead(ctx context.Context, digest corpus.Digest) (corpus.SignedRequest, error) {
	info, err := s.stat(ctx, digest)
	if err != nil {
		return corpus.SignedRequest{}, fmt.Errorf("look up blob %s in bucket %s: %w", digest, s.bucket, explained(err))
	}
	return s.sign(ctx, http.MethodGet, s.blobKey(digest), info.Size, nil)
}

// replaced is how long an object may be absent while a writer replaces it with the same bytes: servers that keep objects as files
// may remove the old one before they link the new one (versitygw's posix backend does).
const replaced = 30 * time.Millisecond

// stat looks up a blob, a second time if it is not there, and then in the trash, from which it returns. The error wraps
// corpus.ErrNotFound when there is none.
func (s *Store) stat(ctx context.Context, digest corpus.Digest) (minio.ObjectInfo, error) {
	for again := false; ; again = true {
		info, err := s.client.StatObject(ctx, s.bucket, s.blobKey(digest), minio.StatObjectOptions{})
		if !notThere(err) {
			return info, err
		}
		if again {
			if err := s.untrash(ctx, digest); err != nil {
				return info, err
			}
			return s.client.StatObject(ctx, s.bucket, s.blobKey(digest), minio.StatObjectOptions{})
		}
		select {
		case <-ctx.Done():
			return info, ctx.Err()
		case <-time.After(replaced):
		}
	}
}

// SignWrite implements corpus.Signer. Beside the object's name, the signature covers the blob's size and SHA-256, which the server
// compares with the bytes that it receives, and that the object must be new.
func (s *Store) SignWrite(ctx context.Context, digest corpus.Digest, size int64) (corpus.SignedRequest, error) {
	switch info, err := s.client.StatObject(ctx, s.bucket, s.blobKey(digest), minio.StatObjectOptions{}); {
	case err == nil && info.Size == size:
		return corpus.SignedRequest{}, nil
	case err == nil:
		return corpus.SignedRequest{}, fmt.Errorf("blob %s in bucket %s has %d bytes, not %d: one of both is damaged",
			digest, s.bucket, info.Size, size)
	case !notThere(err):
		return corpus.SignedRequest{}, fmt.Errorf("look up blob %s in bucket %s: %w", digest, s.bucket, explained(err))
	}
	return s.signWrite(ctx, s.blobKey(digest), digest, size)
}

func (s *Store) signWrite(ctx context.Context, key string, digest corpus.Digest, size int64) (corpus.SignedRequest, error) {
	sum, err := hex.DecodeString(digest.Hex())
	if err != nil {
		return corpus.SignedRequest{}, err
	}
	return s.sign(ctx, http.MethodPut, key, size, map[string]string{
		"Content-Length":        strconv.FormatInt(size, 10),
		"If-None-Match":         "*",
		"X-Amz-Checksum-Sha256": base64.StdEncoding.EncodeToString(sum),
	})
}

func (s *Store) sign(
	ctx context.Context, method, key string, size int64, headers map[string]string,
) (corpus.SignedRequest, error) {
	extra := http.Header{}
	for name, value := range headers {
		extra.Set(name, value)
	}
	expires := time.Now().Add(signedFor)
	u, err := s.client.PresignHeader(ctx, method, s.bucket, key, signedFor, nil, extra)
	if err != nil {
		return corpus.SignedRequest{}, fmt.Errorf("sign a request for %s in bucket %s: %w", key, s.bucket, explained(err))
	}
	return corpus.SignedRequest{URL: u.String(), Headers: headers, Expires: expires, Size: size}, nil
}
