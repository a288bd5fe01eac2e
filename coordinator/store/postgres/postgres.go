// Package postgres is a store in a PostgreSQL database, for any number of coordinators on any number of machines.
//
// Updates of all coordinators are serial: each takes the same advisory lock first. That the answer to a commit may be lost with the
// connection is made harmless by a row that each writer updates in its transactions: the next transaction, once it has the lock,
// sees there whether the one before was committed.
package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"misstep/coordinator/store"
	"misstep/coordinator/store/sqlrows"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is a database. One connection writes, others read. While the server is away, calls wait until their contexts end.
type Store struct {
	write, read *sql.DB
	outage      outage
	templates   sqlrows.Templates
	// writer is the key of this store's row in commits, which says what its last transaction was.
	writer string
	// turn holds the number of the last transaction while nobody writes.
	turn chan int64
	// committed reports whether this store's transaction with a number was committed, in a later transaction. It is s.wasCommitted,
	// but for tests of what happens without it.
	committed func(ctx context.Context, c *transaction, number int64) (bool, error)
}

// Open connects to the database that a URL names, in the form that libpq knows (postgres://user@host/database), and migrates its
// schema to the newest version. What the URL leaves out comes from the environment (PGHOST, PGPASSWORD, ~/.pgpass and so on). It
// fails when the server does not answer (store.ErrAway), refuses the user, or has a database of a newer Misstep. No error contains
// the password.
func Open(ctx context.Context, url string, logger *slog.Logger) (*Store, error) {
	config, err := configure(url)
	if err != nil {
		return nil, err
	}
	s := &Store{
		write: stdlib.OpenDB(*config), read: stdlib.OpenDB(*config), outage: outage{logger: logger}, writer: rand.Text(),
		turn: make(chan int64, 1),
	}
	s.turn <- 0
	s.committed = s.wasCommitted
	readers := max(4, runtime.GOMAXPROCS(0))
	s.write.SetMaxOpenConns(1)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(explain(err, config), s.Close())
	}
	return s, nil
}

// prepare migrates the schema, one process at a time: the others wait for the lock, whose key is "misstem".
func (s *Store) prepare(ctx context.Context) error {
	alone, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer alone.Close()
	if _, err := alone.ExecContext(ctx, "SELECT pg_advisory_lock(x'6d69737374656d'::bigint)"); err != nil {
		return err
	}
	if err := migrate(ctx, s.write); err != nil {
		return err
	}
	// Processes that ended long ago have nothing in doubt.
	if _, err := alone.ExecContext(ctx, "DELETE FROM commits WHERE at < now() - interval '7 days'"); err != nil {
		return err
	}
	_, err = alone.ExecContext(ctx, "SELECT pg_advisory_unlock(x'6d69737374656d'::bigint)")
	return err
}

func migrate(ctx context.Context, db *sql.DB) error {
	return sqlrows.Migrate(ctx, db, goose.DialectPostgres, migrations,
		goose.NewGoMigration(81, &goose.GoFunc{RunTx: sqlrows.CountTrials(sqlrows.Dollar)}, nil))
}

// Close closes all connections.
func (s *Store) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// View implements store.Store.
func (s *Store) View(ctx context.Context, f func(store.Tx) error) error {
	return s.repeat(ctx, viewPatience, func() error {
		c, err := begin(ctx, s.read, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		if err != nil {
			return err
		}
		defer c.release()
		return c.failed(unknownText(f(sqlrows.NewView(ctx, c.conn, sqlrows.Dollar, &s.templates))))
	})
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, f func(store.Tx) error) error {
	// One call of this process at a time waits for the lock in the database; the others wait here.
	var last int64
	select {
	case last = <-s.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	number := last + 1
	defer func() { s.turn <- number }()
	// inDoubt is true once a commit was sent whose answer did not arrive.
	inDoubt := false
	return s.repeat(ctx, math.MaxInt64, func() error {
		c, err := begin(ctx, s.write, beginUpdate)
		if err != nil {
			return err
		}
		defer c.release()
		if inDoubt {
			// The lock is held, so the transaction in doubt has ended.
			committed, err := s.committed(ctx, c, number)
			if err != nil || committed {
				return c.failed(err)
			}
			inDoubt = false
		}
		tx := sqlrows.NewUpdate(ctx, c.conn, sqlrows.Dollar, &s.templates)
		if err := f(tx); err != nil {
			return c.failed(err)
		}
		if !tx.Wrote() {
			return nil
		}
		if err := tx.Finish(); err != nil {
			return c.failed(err)
		}
		err = c.commit(ctx, s.writer, number)
		inDoubt = err != nil && c.lost()
		return c.failed(err)
	})
}

// wasCommitted reports whether this store's transaction with that number was committed.
func (s *Store) wasCommitted(ctx context.Context, c *transaction, number int64) (bool, error) {
	var last int64
	err := c.conn.QueryRowContext(ctx, "SELECT transaction FROM commits WHERE writer = $1", s.writer).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && last == number, err
}

// unknownText maps the error of a query for a string that PostgreSQL cannot hold, one with a zero byte: no row has it.
func unknownText(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "22021" {
		return fmt.Errorf("%w (%w)", store.ErrNotFound, err)
	}
	return err
}
