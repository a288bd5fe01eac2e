package retention

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"misstep/internal/filelock"
)

// Lock keeps rounds that remove, and backups, of a coordinator's folder from running at the same time: what a backup has read must
// not be removed before it is copied. It waits; the kernel releases the lock when the process ends.
func Lock(ctx context.Context, dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, "retention.lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return filelock.Wait(ctx, file, nil)
}
