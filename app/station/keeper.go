package station

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"misstep/app/retention"
	"misstep/coordinator/store/stores"
	"misstep/internal/atomicfile"
)

// storeFile in the folder of a coordinator has the URL of its store, without a password, when that is not in the folder: whoever
// removes blobs of the folder must ask that store which of them are needed.
const storeFile = "store.url"

// StoreElsewhere returns the URL of the store of a coordinator's folder when it is not in the folder, else nothing.
func StoreElsewhere(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, storeFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// elsewhere is the error of a command that is told the folder only.
func elsewhere(dir, url string) error {
	return fmt.Errorf("the store of %s is %s, not in the folder: give it with --store, or ask a coordinator on it with "+
		"--coordinator", dir, url)
}

func noteStore(dir, url string) error {
	if url == "" {
		return nil
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, storeFile), []byte(stores.Redacted(url)+"\n"), 0o644)
	}
	if err != nil {
		return fmt.Errorf("note where the store is: %w", err)
	}
	return nil
}

// Keeper applies a plan to the folder of a hunt or coordinator, which may be running. store is the URL of its store, empty when
// that is in the folder. done closes the store.
func Keeper(ctx context.Context, dir, store string, plan retention.Plan, logger *slog.Logger) (
	k *retention.Keeper, done func() error, err error,
) {
	before, err := lookAt(dir, store)
	if err != nil {
		return nil, nil, err
	}
	if store == "" {
		if err := CheckDir(dir); err != nil {
			return nil, nil, err
		}
	} else if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("no folder of a coordinator: %w", err)
	}
	st, err := stores.Open(ctx, cmp.Or(store, dir))
	if err != nil {
		return nil, nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	blobs, err := OpenBlobs(ctx, dir, "")
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	owned, err := before.own(ctx, st, Place{Dir: dir, Store: store}, blobs, logger)
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return &retention.Keeper{
		Plan: plan, Store: st, Blobs: blobs.Sweeper(), Shared: blobs.Index, Clock: time.Now, Logger: logger,
		Dir: dir, Owned: owned,
	}, st.Close, nil
}
