// Package sqlite is a store in one file, for a coordinator on one machine.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/pressly/goose/v3"
	"golang.org/x/sys/unix"
	"modernc.org/sqlite" // the driver "sqlite", in Go: a static binary without cgo
	lib "modernc.org/sqlite/lib"

	"misstep/coordinator/store/sqlrows"
	"misstep/internal/filelock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is a database file. One connection writes, others read; write-ahead logging lets them work concurrently.
type Store struct {
	write, read *sql.DB
	templates   sqlrows.Templates
	// writer is the connection that writes, with its statements. The channel is empty while a transaction is under way.
	writer chan *writer
}

// Open opens the database file at path, creates it when it is missing, and migrates its schema to the newest version. It fails when
// the file is not a database, was written by a newer Misstep, or when another process keeps it locked for longer than 10 s.
func Open(ctx context.Context, path string) (*Store, error) {
	// synchronous=FULL: an acknowledged result survives a power failure, not only a killed process.
	// txlock=immediate: a writing transaction waits for the lock at its start instead of failing half-way.
	// wal_autocheckpoint: pages that most transactions change are written back once in 64 MiB of log, not once in 4 MiB.
	const common = "_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=cache_size(-65536)"
	file := (&url.URL{Scheme: "file", Opaque: url.PathEscape(path)}).String()
	write, err := sql.Open("sqlite", file+"?"+common+"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
		"&_pragma=wal_autocheckpoint(16384)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	write.SetMaxOpenConns(1)
	if err := migrate(ctx, write, filepath.Dir(path)); err != nil {
		if cannotWrite(path, err) {
			return nil, errors.Join(fmt.Errorf("open store %s: it or its folder cannot be written, which reading needs as well: "+
				"make both writable, or copy the folder and use the copy", path), write.Close())
		}
		return nil, errors.Join(fmt.Errorf("migrate store %s: %w", path, err), write.Close())
	}
	read, err := sql.Open("sqlite", file+"?"+common+"&_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s for reading: %w", path, err), write.Close())
	}
	read.SetMaxOpenConns(max(2, runtime.GOMAXPROCS(0)))
	conn, err := write.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s for writing: %w", path, err), read.Close(), write.Close())
	}
	s := &Store{write: write, read: read, writer: make(chan *writer, 1)}
	s.writer <- &writer{conn: conn, prepared: map[string]*sql.Stmt{}}
	return s, nil
}

// cannotWrite reports whether an error of opening a database means that the file or its folder is read-only.
func cannotWrite(path string, err error) bool {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch failure.Code() & 0xff { // the low byte is the primary code
	case lib.SQLITE_READONLY:
		return true
	case lib.SQLITE_CANTOPEN: // its log cannot be created
		err := unix.Access(filepath.Dir(path), unix.W_OK)
		return err != nil && !errors.Is(err, fs.ErrNotExist)
	default:
		return false
	}
}

// migrate brings a database to the newest version. Of processes that open a new one at once, each would make its tables: they take
// turns by a lock of its folder. Where there is no folder, SQLite reports it.
func migrate(ctx context.Context, db *sql.DB, folder string) error {
	if f, err := os.Open(folder); err == nil {
		unlock, err := filelock.Wait(ctx, f, nil)
		if err != nil {
			return err
		}
		defer unlock()
	}
	return sqlrows.Migrate(ctx, db, goose.DialectSQLite3, migrations,
		goose.NewGoMigration(11, &goose.GoFunc{RunTx: fillCombinations}, nil),
		goose.NewGoMigration(40, &goose.GoFunc{RunTx: upgradeSignatures}, nil),
		goose.NewGoMigration(81, &goose.GoFunc{RunTx: sqlrows.CountTrials(sqlrows.Question)}, nil))
}
