package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// beginUpdate begins a transaction that writes, and waits until it is the only one. In READ COMMITTED each statement sees what was
// committed before it, so those after the lock see everything that the transactions before wrote. The lock's key is "misstep".
const beginUpdate = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(x'6d697373746570'::bigint)"

// commitAs ends a transaction and notes that it was committed, in one round trip.
const commitAs = "INSERT INTO commits (writer, transaction, at) VALUES ('%s', %d, now()) " +
	"ON CONFLICT (writer) DO UPDATE SET transaction = excluded.transaction, at = excluded.at; COMMIT"

// rollbackTime bounds the rollback of a transaction whose context may have ended.
const rollbackTime = 5 * time.Second

// transaction is a connection on which a transaction was begun.
type transaction struct {
	conn *sql.Conn
	// ended is true after a commit.
	ended bool
}

// begin takes a connection and begins a transaction with the statements. The caller releases it.
func begin(ctx context.Context, db *sql.DB, statements string) (*transaction, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, &attemptError{err, true}
	}
	c := &transaction{conn: conn}
	if err := c.raw(ctx, statements); err != nil {
		defer c.release()
		err = fmt.Errorf("begin a transaction of the store: %w", err)
		if c.lost() {
			return nil, &attemptError{err, true}
		}
		return nil, c.failed(err)
	}
	return c, nil
}

// raw sends statements without parameters in one message.
func (c *transaction) raw(ctx context.Context, statements string) error {
	return c.driver(func(conn *pgconn.PgConn) error {
		results, err := conn.Exec(ctx, statements).ReadAll()
		if err == nil && len(results) > 0 && results[len(results)-1].CommandTag.String() == "ROLLBACK" {
			err = errors.New("a statement of the transaction failed before, so it was rolled back")
		}
		return err
	})
}

func (c *transaction) driver(f func(*pgconn.PgConn) error) error {
	return c.conn.Raw(func(conn any) error { return f(conn.(*stdlib.Conn).Conn().PgConn()) })
}

// commitTime bounds a commit; it does not end with the call's context, after which nobody would know what became of it.
const commitTime = 30 * time.Second

// commit commits as the writer's transaction with that number.
func (c *transaction) commit(ctx context.Context, writer string, number int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	if err := c.raw(ctx, fmt.Sprintf(commitAs, writer, number)); err != nil {
		return fmt.Errorf("commit a transaction of the store: %w", err)
	}
	c.ended = true
	return nil
}

// lost reports whether the connection was lost, so that it is not known what the server did last.
func (c *transaction) lost() bool {
	lost := true
	_ = c.driver(func(conn *pgconn.PgConn) error {
		lost = conn.IsClosed()
		return nil
	})
	return lost
}

// failed marks the error of a transaction as one after which the transaction is repeated, if it is.
func (c *transaction) failed(err error) error {
	if err == nil {
		return nil
	}
	if c.lost() || isConflict(err) {
		return &attemptError{err, false}
	}
	return err
}

// release undoes a transaction that was not committed and gives the connection back, or drops one that was lost.
func (c *transaction) release() {
	if !c.ended && !c.lost() {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
		defer cancel()
		// When it fails, the server undoes the transaction as the connection is dropped: the pool takes none back inside of one.
		_ = c.raw(ctx, "ROLLBACK")
	}
	_ = c.conn.Close()
}
