package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// Snapshot writes the rows of the database file at path, as of one moment, to the new file to, and syncs it. The database may be in
// use: others read and write it meanwhile.
func Snapshot(ctx context.Context, path, to string) error {
	if err := snapshot(ctx, path, to); err != nil {
		return fmt.Errorf("copy store %s to %s: %w", path, to, err)
	}
	return nil
}

func snapshot(ctx context.Context, path, to string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	file := (&url.URL{Scheme: "file", Opaque: url.PathEscape(path)}).String()
	db, err := sql.Open("sqlite", file+"?mode=rw&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// Reads in one transaction, which write-ahead logging keeps from stopping others.
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return err
	}
	copied, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(copied.Sync(), copied.Close())
}
