// Package backup copies what a coordinator keeps to another folder while it runs, and makes a coordinator's folder of such a copy.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"misstep/app/retention"
	"misstep/app/station"
	"misstep/coordinator/store/stores"
	"misstep/coordinator/store/transfer"
	"misstep/corpus"
	"misstep/corpus/localdir"
	"misstep/internal/atomicfile"
)

// copiers copy blobs at the same time.
const copiers = 4

// Report is what a backup or a restored folder consists of.
type Report struct {
	// Blobs that belong to it, Copied those that it did not have, of Bytes.
	Blobs, Copied int
	Bytes         int64
	// Lost are blobs that rows refer to and that were not there any more.
	Lost []string
	// Catalogued counts files of JDKs and workloads that no runner has asked for yet: only the machine's catalogue has them.
	Catalogued int
	// Damaged are blobs of a backup that are not there or have other bytes, so that the restored folder lacks them.
	Damaged []string
	// Bucket that the blobs stay in; empty when they are copied.
	Bucket string
}

// Make copies the folder of a hunt or coordinator, which may be running, to the folder to; url is the URL of its store, empty when
// that is in the folder. to may have an earlier backup, which stays whole until the new one is: only blobs that it lacks are
// copied. Blobs in a bucket stay there.
//
// A coordinator takes files of JDKs and workloads from the machine's catalogue when a runner asks for them. Files that only the
// catalogue has are counted, not copied.
func Make(ctx context.Context, dir, url, to string, catalogue ...corpus.Source) (Report, error) {
	report, err := makeBackup(ctx, dir, url, to, catalogue)
	if err != nil {
		return report, fmt.Errorf("back up %s: %w", dir, err)
	}
	return report, nil
}

func makeBackup(ctx context.Context, dir, url, to string, catalogue []corpus.Source) (report Report, err error) {
	if url == "" {
		err = station.CheckDir(dir)
	} else if _, err = os.Stat(dir); err != nil {
		err = fmt.Errorf("no folder of a coordinator: %w", err)
	}
	if err != nil {
		return report, err
	}
	if err := checkTarget(to); err != nil {
		return report, err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return report, err
	}
	unlock, err := retention.Lock(ctx, dir) // nothing that the rows refer to is removed before it is copied
	if err != nil {
		return report, err
	}
	defer unlock()
	temporary := filepath.Join(to, "store.new")
	if err := removeStore(temporary); err != nil {
		return report, err
	}
	if err := snapshot(ctx, dir, url, temporary); err != nil {
		return report, err
	}
	blobs, err := station.OpenBlobs(ctx, dir, "")
	if err != nil {
		return report, err
	}
	needed, err := neededBy(ctx, temporary, dir, url, blobs)
	if err != nil {
		return report, err
	}
	m := manifest{}
	if m.bucket, err = station.Bucket(dir); err != nil {
		return report, err
	}
	report.Bucket = m.bucket
	var absent []corpus.Digest
	if m.blobs, absent, err = present(ctx, blobs, needed); err != nil {
		return report, err
	}
	lost, err := elsewhere(ctx, catalogue, absent)
	if err != nil {
		return report, err
	}
	for _, d := range lost {
		report.Lost = append(report.Lost, d.String())
	}
	report.Blobs, report.Catalogued = len(m.blobs), len(absent)-len(lost)
	if m.bucket == "" {
		target, err := localdir.New(station.BlobsPath(to))
		if err != nil {
			return report, err
		}
		if err := copyBlobs(ctx, blobs, target, m.blobs, false, &report); err != nil {
			return report, err
		}
		if err := copyIndex(ctx, blobs, station.BlobsPath(to)); err != nil {
			return report, err
		}
	}
	if m.store, err = digestOf(ctx, temporary); err != nil {
		return report, err
	}
	if err := os.Rename(temporary, filepath.Join(to, storeName(m.store))); err != nil {
		return report, err
	}
	if err := atomicfile.Write(filepath.Join(to, manifestName), m.text(), 0o644); err != nil {
		return report, err
	}
	return report, removeOthers(to, storeName(m.store))
}

// snapshot copies the rows as of one moment to a new SQLite file.
func snapshot(ctx context.Context, dir, url, to string) (err error) {
	if url == "" {
		return stores.Snapshot(ctx, dir, to)
	}
	from, err := stores.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	copied, err := stores.Open(ctx, "sqlite:"+to)
	if err != nil {
		return err
	}
	_, err = transfer.Copy(ctx, stores.Redacted(url), from, copied, func(string, uint64) {})
	return errors.Join(err, copied.Close())
}

// neededBy returns the digests that the rows in a file, or the index of shared bundles, refer to; true for those that must be
// there.
func neededBy(ctx context.Context, file, dir, url string, blobs station.Blobs) (needed map[corpus.Digest]bool, err error) {
	st, err := stores.Open(ctx, "sqlite:"+file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := station.CheckOwner(ctx, st, cmp.Or(url, dir), dir, blobs); err != nil {
		return nil, err
	}
	return retention.List(ctx, st, blobs.Index, blobs)
}

// present splits digests into those of blobs that are there, and those of lost ones, in order.
func present(
	ctx context.Context, blobs corpus.Source, needed map[corpus.Digest]bool,
) (there, lost []corpus.Digest, err error) {
	for d := range needed {
		there = append(there, d)
	}
	slices.SortFunc(there, func(a, b corpus.Digest) int { return strings.Compare(a.Hex(), b.Hex()) })
	missing, err := blobs.Missing(ctx, there)
	if err != nil {
		return nil, nil, err
	}
	absent := map[corpus.Digest]bool{}
	for _, d := range missing {
		absent[d] = true
		if needed[d] {
			lost = append(lost, d)
		}
	}
	return slices.DeleteFunc(there, func(d corpus.Digest) bool { return absent[d] }), lost, nil
}

// elsewhere returns those of the digests that none of the sources has.
func elsewhere(ctx context.Context, sources []corpus.Source, digests []corpus.Digest) (missing []corpus.Digest, err error) {
	missing = digests
	for _, source := range sources {
		if missing, err = source.Missing(ctx, missing); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// copyBlobs copies the blobs that a corpus lacks; each is verified. One that is damaged is an error, but while restoring, when the
// others are worth having, it is reported only.
func copyBlobs(
	ctx context.Context, from corpus.Opener, to corpus.Store, digests []corpus.Digest, restoring bool, report *Report,
) error {
	missing, err := to.Missing(ctx, digests)
	if err != nil {
		return err
	}
	sizes, damaged := make([]int64, len(missing)), make([]bool, len(missing))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	for i, d := range missing {
		group.Go(func() error {
			r, _, err := from.Open(ctx, d)
			if err == nil {
				_, sizes[i], err = to.Put(ctx, r, d)
				err = errors.Join(err, r.Close())
			}
			if restoring && isDamage(err) {
				damaged[i] = true
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, size := range sizes {
		if damaged[i] {
			report.Damaged = append(report.Damaged, missing[i].String())
			continue
		}
		report.Copied++
		report.Bytes += size
	}
	return nil
}
