package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"misstep/coordinator/store"
	"misstep/coordinator/store/sqlrows"
)

// Close closes the file, which contains the rows of all finished transactions.
func (s *Store) Close() error {
	w := <-s.writer
	defer func() { s.writer <- w }() // closed, so that an update after this fails
	return errors.Join(w.close(), s.read.Close(), s.write.Close())
}

// View implements store.Store.
func (s *Store) View(ctx context.Context, f func(store.Tx) error) error {
	t, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction of the store: %w", err)
	}
	defer t.Rollback() //nolint:errcheck // there is nothing to undo
	return f(sqlrows.NewView(ctx, t, sqlrows.Question, &s.templates))
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, f func(store.Tx) error) error {
	var w *writer
	select {
	case w = <-s.writer:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.writer <- w }()
	committed := false
	defer func() { // also after a panic of f, and after a BEGIN of which the driver says that it was cancelled: it may be done
		if !committed {
			// The error that led here is the one to report.
			_, _ = w.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin a transaction of the store: %w", err)
	}
	tx := sqlrows.NewUpdate(ctx, w, sqlrows.Question, &s.templates)
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Finish(); err != nil {
		return err
	}
	if _, err := w.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return fmt.Errorf("commit a transaction of the store: %w", err)
	}
	committed = true
	return nil
}

// writer is a connection that keeps its statements prepared: parsing a statement that inserts many rows takes as long as inserting
// them. One goroutine uses it at a time.
type writer struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

// maxPrepared bounds the statements that are kept; those of the transactions of calls are a few dozen.
const maxPrepared = 256

func (w *writer) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if known := w.prepared[query]; known != nil {
		return known, nil
	}
	if len(w.prepared) >= maxPrepared {
		if err := w.forget(); err != nil {
			return nil, err
		}
	}
	made, err := w.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	w.prepared[query] = made
	return made, nil
}

func (w *writer) forget() error {
	var errs []error
	for _, s := range w.prepared {
		errs = append(errs, s.Close())
	}
	clear(w.prepared)
	return errors.Join(errs...)
}

func (w *writer) close() error {
	err := errors.Join(w.forget(), w.conn.Close())
	if errors.Is(err, sql.ErrConnDone) { // closed before
		return nil
	}
	return err
}

// ExecContext implements sqlrows.Statements.
func (w *writer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := w.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// QueryContext implements sqlrows.Statements.
func (w *writer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := w.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// QueryRowContext implements sqlrows.Statements.
func (w *writer) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := w.prepare(ctx, query)
	if err != nil {
		return w.conn.QueryRowContext(ctx, query, args...) // which has the same error
	}
	return s.QueryRowContext(ctx, args...)
}
