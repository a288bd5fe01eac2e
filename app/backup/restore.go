package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"misstep/app/station"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	"misstep/internal/atomicfile"
)

// Restore makes the folder of a coordinator of the backup in the folder from. dir must be new or empty. Everything is verified, and
// the store comes last: when it is interrupted, the same call continues, and until then nobody else opens the folder. Blobs
// that are damaged are left out and named in the report.
func Restore(ctx context.Context, from, dir string) (Report, error) {
	report, err := restore(ctx, from, dir)
	if err != nil {
		return report, fmt.Errorf("restore %s to %s: %w", from, dir, err)
	}
	return report, nil
}

func restore(ctx context.Context, from, dir string) (report Report, err error) {
	m, err := readManifest(from)
	if err != nil {
		return report, err
	}
	if from, err = filepath.Abs(from); err != nil {
		return report, err
	}
	if err := checkNew(dir, from); err != nil {
		return report, err
	}
	report.Bucket, report.Blobs = m.bucket, len(m.blobs)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return report, err
	}
	if err := atomicfile.Write(stores.RestoringFile(dir), []byte(from+"\n"), 0o644); err != nil {
		return report, err
	}
	blobs, err := station.OpenBlobs(ctx, dir, m.bucket)
	if err != nil {
		return report, err
	}
	if m.bucket == "" {
		source := station.BlobsPath(from)
		if err := copyBlobs(ctx, localdir.Reader(source), blobs, m.blobs, true, &report); err != nil {
			return report, err
		}
		if err := copyIndex(ctx, index.Folder(source), station.BlobsPath(dir)); err != nil {
			return report, err
		}
	} else {
		missing, err := blobs.Missing(ctx, m.blobs)
		if err != nil {
			return report, err
		}
		for _, d := range missing {
			report.Lost = append(report.Lost, d.String())
		}
	}
	if err := restoreStore(ctx, filepath.Join(from, storeName(m.store)), m.store, stores.File(dir)); err != nil {
		return report, err
	}
	return report, os.Remove(stores.RestoringFile(dir))
}

// isDamage reports whether an error says that a blob is not what it should be, and not that it cannot be read now.
func isDamage(err error) bool {
	_, differs := errors.AsType[*corpus.MismatchError](err)
	return differs || errors.Is(err, corpus.ErrNotFound)
}

// restoreStore copies a file with a digest, which becomes visible whole.
func restoreStore(ctx context.Context, from string, want corpus.Digest, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	temporary := to + ".restored"
	file, err := os.Create(temporary)
	if err != nil {
		return err
	}
	_, _, err = corpus.Receive(ctx, file, io.Reader(source), want, 0)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := os.Rename(temporary, to); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
