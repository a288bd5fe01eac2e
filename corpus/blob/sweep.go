package blob

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"misstep/corpus"
)

// trashDir below the prefix has the blobs that Sweep has found superfluous.
const trashDir = "trash"

// Sweep moves the blobs for which keep is false, and that are older than before, to the trash; what has been in the trash since
// before is removed for good. Without remove it only counts what it would move.
//
// An object store has no lock by which a sweep and a writer that was told "this blob is stored already" could exclude each other.
// So nothing is removed at once: when such a writer's reference is found by a later sweep, the blob returns from the trash, and
// until then it is read from there. That holds for writers whose reference is stored within the time between two sweeps' grace.
func (s *Store) Sweep(ctx context.Context, keep func(corpus.Digest) bool, before time.Time, remove bool) (corpus.Swept, error) {
	var swept corpus.Swept
	err := s.emptyTrash(ctx, keep, before, remove) // first: what is moved there now stays for a while
	if err == nil {
		swept, err = s.trash(ctx, keep, before, remove)
	}
	if err != nil {
		return swept, fmt.Errorf("sweep bucket %s: %w", s.bucket, err)
	}
	return swept, nil
}

// trash moves what is not needed to the trash.
func (s *Store) trash(ctx context.Context, keep func(corpus.Digest) bool, before time.Time, remove bool) (corpus.Swept, error) {
	var swept corpus.Swept
	var mu sync.Mutex
	err := s.objects(ctx, "", func(ctx context.Context, o minio.ObjectInfo) error {
		digits := path.Base(o.Key)
		d, err := corpus.ParseDigest("sha256:" + digits)
		if err != nil || o.Key != s.blobKey(d) {
			return nil //nolint:nilerr // an entry of the index, or something else that is not a blob
		}
		young := !o.LastModified.Before(before)
		if !keep(d) && !young && remove {
			if err := s.move(ctx, s.blobKey(d), s.trashKey(d)); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case keep(d):
			swept.Kept++
		case young:
			swept.Spared++
		default:
			swept.Removed++
			swept.Bytes += o.Size
		}
		return nil
	})
	return swept, err
}

// emptyTrash removes what has been in the trash since before, and returns what is needed after all.
func (s *Store) emptyTrash(ctx context.Context, keep func(corpus.Digest) bool, before time.Time, remove bool) error {
	if !remove {
		return nil
	}
	return s.objects(ctx, trashDir, func(ctx context.Context, o minio.ObjectInfo) error {
		d, err := corpus.ParseDigest("sha256:" + path.Base(o.Key))
		switch {
		case err != nil:
			return nil //nolint:nilerr // not a blob
		case keep(d):
			return s.move(ctx, s.trashKey(d), s.blobKey(d))
		case o.LastModified.Before(before):
			return s.client.RemoveObject(ctx, s.bucket, o.Key, minio.RemoveObjectOptions{})
		}
		return nil
	})
}

func (s *Store) trashKey(d corpus.Digest) string { return s.key(trashDir + "/" + d.Hex()) }

// move copies an object and then removes it: a reader finds it at one of the two places at any moment.
func (s *Store) move(ctx context.Context, from, to string) error {
	if err := s.copy(ctx, from, to); err != nil {
		return err
	}
	return s.client.RemoveObject(ctx, s.bucket, from, minio.RemoveObjectOptions{})
}

func (s *Store) copy(ctx context.Context, from, to string) error {
	_, err := s.client.CopyObject(ctx, minio.CopyDestOptions{Bucket: s.bucket, Object: to},
		minio.CopySrcOptions{Bucket: s.bucket, Object: from})
	return err
}

// untrash returns a blob that is read although it is in the trash. The error wraps corpus.ErrNotFound when it is not there either.
func (s *Store) untrash(ctx context.Context, d corpus.Digest) error {
	err := s.copy(ctx, s.trashKey(d), s.blobKey(d))
	if notThere(err) {
		return corpus.ErrNotFound
	}
	return err
}

// objects calls visit for each object below PREFIX/dir, page by page, several at the same time.
func (s *Store) objects(parent context.Context, dir string, visit func(ctx context.Context, o minio.ObjectInfo) error) error {
	group, ctx := errgroup.WithContext(parent)
	group.SetLimit(parallel)
	under := s.key(dir)
	if under != "" {
		under += "/"
	}
	var listing error
	for o := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: under, Recursive: true}) {
		if listing = o.Err; listing != nil {
			break
		}
		group.Go(func() error { return visit(ctx, o) })
	}
	err := group.Wait()
	if err == nil && listing != nil {
		err = fmt.Errorf("list it: %w", listing)
	}
	return errors.Join(err, parent.Err())
}
