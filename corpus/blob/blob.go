// Package blob stores a corpus in a bucket of an S3-compatible store.
//
// Layout, also in corpus/FORMAT.md: PREFIX/ab/ab12… (64 digits) for each blob, as in a folder; PREFIX/index/… for the entries of
// package index. A blob is digested on this machine before it is sent, and an object appears whole or not at all, so
// what is stored under a digest was verified by its writer; every reader verifies it again.
package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"misstep/corpus"
)

const (
	// fewDigests are looked up one by one; for more a listing is cheaper.
	fewDigests = 200
	parallel   = 16 // concurrent requests
	// tries of a request before the server counts as unavailable, after pauses that double from 0.2 s.
	tries    = 5
	partSize = 16 << 20
)

// Store is a corpus.Store in a bucket. Make one with Open.
type Store struct {
	client         *minio.Client
	bucket, prefix string
}

var _ corpus.Store = (*Store)(nil)

// Options are how to reach the server.
type Options struct {
	// Endpoint is its address as a URL, e.g. "https://s3.eu-central-1.amazonaws.com" or "http://127.0.0.1:9000".
	Endpoint string
	// Region; "us-east-1" if empty.
	Region string
	// Credentials; nil uses $AWS_ACCESS_KEY_ID with $AWS_SECRET_ACCESS_KEY, or else ~/.aws/credentials.
	Credentials *credentials.Credentials
}

// Open connects to a bucket, which must exist. prefix, which may be empty, precedes each object's name.
func Open(ctx context.Context, bucket, prefix string, o Options) (*Store, error) {
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, fmt.Errorf("endpoint %q: expected a URL such as https://s3.eu-central-1.amazonaws.com", o.Endpoint)
	}
	keys := o.Credentials
	if keys == nil {
		keys = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}})
	}
	region := o.Region
	if region == "" {
		region = "us-east-1"
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: keys, Secure: endpoint.Scheme == "https", Region: region, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", o.Endpoint, err)
	}
	s := &Store{client: client, bucket: bucket, prefix: strings.Trim(prefix, "/")}
	there, err := client.BucketExists(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("look for bucket %s at %s: %w", bucket, o.Endpoint, explained(err))
	}
	if !there {
		return nil, fmt.Errorf(
			"there is no bucket %s at %s, or you have no access to it: create it first, or check the credentials",
			bucket,
			o.Endpoint,
		)
	}
	return s, nil
}

func (s *Store) key(name string) string { return strings.TrimPrefix(path.Join(s.prefix, name), "/") }

func (s *Store) blobKey(d corpus.Digest) string { return s.key(d.Hex()[:2] + "/" + d.Hex()) }

// Missing implements corpus.Source.
func (s *Store) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var there func(corpus.Digest) bool
	if len(digests) <= fewDigests {
		found := make(map[string]bool, len(digests))
		results := make([]bool, len(digests))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(parallel)
		for i, d := range digests {
			group.Go(func() error {
				_, err := s.client.StatObject(ctx, s.bucket, s.blobKey(d), minio.StatObjectOptions{})
				results[i] = err == nil
				if notThere(err) {
					return nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, fmt.Errorf("look up blobs in bucket %s: %w", s.bucket, explained(err))
		}
		for i, d := range digests {
			found[d.Hex()] = results[i]
		}
		there = func(d corpus.Digest) bool { return found[d.Hex()] }
	} else {
		stored := map[string]bool{}
		all := minio.ListObjectsOptions{Prefix: s.key("") + slash(s.prefix), Recursive: true}
		for object := range s.client.ListObjectsIter(ctx, s.bucket, all) {
			if object.Err != nil {
				return nil, fmt.Errorf("list bucket %s: %w", s.bucket, explained(object.Err))
			}
			stored[object.Key] = true
		}
		there = func(d corpus.Digest) bool { return stored[s.blobKey(d)] }
	}
	var missing []corpus.Digest
	for _, d := range digests {
		if !there(d) {
			missing = append(missing, d)
		}
	}
	return missing, ctx.Err()
}

func slash(prefix string) string {
	if prefix == "" {
		return ""
	}
	return "/"
}

// Open implements corpus.Source.
func (s *Store) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	r, size, err := s.open(ctx, s.blobKey(digest))
	if errors.Is(err, corpus.ErrNotFound) {
		if _, err = s.stat(ctx, digest); err == nil {
			r, size, err = s.open(ctx, s.blobKey(digest))
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open blob %s in bucket %s: %w", digest, s.bucket, explained(err))
	}
	return corpus.VerifyReader(explaining{r}, digest), size, nil
}

func (s *Store) open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	object, err := s.client.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, err
	}
	info, err := object.Stat()
	if notThere(err) {
		err = corpus.ErrNotFound
	}
	if err != nil {
		return nil, 0, errors.Join(err, object.Close())
	}
	return object, info.Size, nil
}

// Put implements corpus.Store. It does not send a blob that is already stored with its size.
func (s *Store) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	digest, size, err := s.put(ctx, r, want)
	if err != nil {
		return corpus.Digest{}, 0, fmt.Errorf("put blob in bucket %s: %w", s.bucket, err)
	}
	return digest, size, nil
}

func (s *Store) put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	file, err := os.CreateTemp("", "misstep-put-*")
	if err != nil {
		return corpus.Digest{}, 0, err
	}
	defer file.Close()
	// The file is unlinked at once, so that its bytes are freed however this process ends.
	if err := os.Remove(file.Name()); err != nil {
		return corpus.Digest{}, 0, err
	}
	digest, size, err := corpus.Receive(ctx, file, r, want, corpus.MaxBlob)
	if err != nil {
		return corpus.Digest{}, 0, err
	}
	switch info, err := s.client.StatObject(ctx, s.bucket, s.blobKey(digest), minio.StatObjectOptions{}); {
	case err == nil && info.Size == size:
		return digest, size, nil
	case err != nil && !notThere(err):
		return corpus.Digest{}, 0, explained(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return corpus.Digest{}, 0, err
	}
	options := minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: partSize}
	_, err = s.client.PutObject(ctx, s.bucket, s.blobKey(digest), file, size, options)
	return digest, size, explained(err)
}

// List returns the names of the objects below PREFIX/dir.
func (s *Store) List(ctx context.Context, dir string) ([]string, error) {
	var names []string
	under := s.key(dir) + "/"
	for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: under, Recursive: true}) {
		if object.Err != nil {
			return nil, fmt.Errorf("list bucket %s: %w", s.bucket, explained(object.Err))
		}
		names = append(names, strings.TrimPrefix(object.Key, under))
	}
	return names, ctx.Err()
}

// ReadName returns the bytes of a small object below PREFIX. The error wraps corpus.ErrTooLarge when it has more than limit.
func (s *Store) ReadName(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, size, err := s.open(ctx, s.key(name))
	if err != nil {
		return nil, fmt.Errorf("read %s in bucket %s: %w", name, s.bucket, explained(err))
	}
	defer r.Close()
	if size > limit {
		return nil, fmt.Errorf("read %s in bucket %s: %d bytes: %w", name, s.bucket, size, corpus.ErrTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("read %s in bucket %s: %w", name, s.bucket, explained(err))
	}
	return data, nil
}

// WriteName stores a small object below PREFIX.
func (s *Store) WriteName(ctx context.Context, name string, data []byte) error {
	content := bytes.NewReader(data)
	if _, err := s.client.PutObject(ctx, s.bucket, s.key(name), content, int64(len(data)), minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("write %s in bucket %s: %w", name, s.bucket, explained(err))
	}
	return nil
}

// AddName is WriteName for an object that is not there: if it is, the error wraps fs.ErrExist.
func (s *Store) AddName(ctx context.Context, name string, data []byte) error {
	options := minio.PutObjectOptions{}
	options.SetMatchETagExcept("*")
	_, err := s.client.PutObject(ctx, s.bucket, s.key(name), bytes.NewReader(data), int64(len(data)), options)
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusPreconditionFailed, http.StatusConflict:
		err = fs.ErrExist
	case http.StatusForbidden:
		err = fmt.Errorf("%w: %w", fs.ErrPermission, explained(err))
	}
	if err != nil {
		return fmt.Errorf("write %s in bucket %s: %w", name, s.bucket, err)
	}
	return nil
}

// Empty reports whether there is nothing below PREFIX but what a process that opens it tries.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	under := minio.ListObjectsOptions{Prefix: s.key("") + slash(s.prefix), Recursive: true, MaxKeys: 1}
	for object := range s.client.ListObjectsIter(ctx, s.bucket, under) {
		if object.Err != nil || !strings.HasPrefix(object.Key, s.key(probeDir)+"/") {
			return false, object.Err
		}
	}
	return true, ctx.Err()
}

// Location is the place as s3://BUCKET/PREFIX.
func (s *Store) Location() string { return "s3://" + path.Join(s.bucket, s.prefix) }
