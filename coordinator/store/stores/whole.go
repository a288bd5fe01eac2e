package stores

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"misstep/coordinator/store"
)

// Property returns a property of a store; empty when there is none, as in a store in memory.
func Property(ctx context.Context, s store.Store, name string) (text string, err error) {
	err = s.View(ctx, func(tx store.Tx) error {
		rows, ok := tx.(store.PropertyRows)
		if !ok {
			return nil
		}
		text, err = rows.Property(name)
		return err
	})
	return text, err
}

// complete returns an error when another store is being copied into a store, or was when that broke off.
func complete(ctx context.Context, s store.Store) error {
	mark, err := Property(ctx, s, store.PropertyIncomplete)
	if err == nil && mark != "" {
		err = fmt.Errorf("it is an incomplete %s: wait for its end, or, when it broke off, run the same `misstep store copy` "+
			"again, which begins anew", mark)
	}
	return err
}

// restoringName in a folder names the backup that it is being made of.
const restoringName = "restoring.txt"

// CheckRestored returns an error when a folder is being restored, or was when that broke off.
func CheckRestored(folder string) error {
	from, err := Restoring(folder)
	if err == nil && from != "" {
		err = fmt.Errorf("the folder %s is being restored from the backup %s: wait for its end, or, when it broke off, run "+
			"`misstep store restore %s %s` again, which continues", folder, from, from, folder)
	}
	return err
}

// Restoring returns the backup that a folder is being restored from; empty when it is not.
func Restoring(folder string) (from string, err error) {
	text, err := os.ReadFile(filepath.Join(folder, restoringName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find out whether %s is being restored: %w", folder, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// RestoringFile is the file in a folder whose text is the backup from which it is being restored.
func RestoringFile(folder string) string { return filepath.Join(folder, restoringName) }
