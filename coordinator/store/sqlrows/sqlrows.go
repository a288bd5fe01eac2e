// Package sqlrows reads and writes the rows of a store in a transaction of an SQL database.
//
// The stores of SQLite and of PostgreSQL share it: their tables have the same names and columns, and the statements are written in
// the part of SQL that both databases know. Each store makes its tables and keeps the promises of package store about transactions.
package sqlrows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Dialect is how a database writes the parameters of a statement.
type Dialect int

// The dialects.
const (
	// Question marks, as SQLite has them.
	Question Dialect = iota
	// Dollar signs and numbers, as PostgreSQL has them.
	Dollar
)

// query returns a statement with question marks in the dialect. No statement of this package has a question mark in a string.
func (d Dialect) query(q string) string {
	if d == Question {
		return q
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(q, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		q = after
	}
}

// Statements run in one transaction: an *sql.Tx, or an *sql.Conn on which one was begun.
type Statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Tx implements store.Tx on a transaction. The errors of statements are wrapped and say what could not be done.
type Tx struct {
	ctx     context.Context //nolint:containedctx // a transaction lives inside one call
	t       Statements
	dialect Dialect
	// update is true in a store.Store's Update, whose messages are shared with the transaction.
	update bool
	wrote  bool
	// encoded are the columns of recipes that were read or written in an update.
	encoded map[*misstepv1.Recipe]encodedRecipe
	// templates of recipes by key that the transaction has written.
	templates map[int64]*misstepv1.Recipe
	// read are templates that were read, by this transaction or earlier ones.
	read *Templates
	// known are the combinations, once they have been read.
	known map[int64]rates.Combination
	// due is the time up to which jobs are noted as due.
	due time.Time
	// queued are the changes that Finish writes, by campaign.
	queued map[string]queued
}

// New returns the rows that t sees; ctx limits each statement.
func New(ctx context.Context, t Statements, d Dialect) *Tx {
	return &Tx{ctx: ctx, t: t, dialect: d, read: &Templates{}}
}

// NewView is New for a transaction of a store that keeps templates.
func NewView(ctx context.Context, t Statements, d Dialect, read *Templates) *Tx {
	return &Tx{ctx: ctx, t: t, dialect: d, read: read}
}

// NewUpdate is NewView for a transaction of an update, which shares messages with its caller; Finish ends it.
func NewUpdate(ctx context.Context, t Statements, d Dialect, read *Templates) *Tx {
	return &Tx{ctx: ctx, t: t, dialect: d, read: read, update: true}
}

var _ store.Loader = (*Tx)(nil)

// Loaded implements store.Loader.
func (t *Tx) Loaded() error {
	if t.dialect == Question {
		return nil // SQLite's ids follow the greatest
	}
	for _, table := range []string{"trials", "decisions", "audit"} {
		if err := t.Exec("continue the ids of "+table, "SELECT setval(pg_get_serial_sequence('"+table+
			"', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM "+table+"), false)"); err != nil {
			return err
		}
	}
	return nil
}

// Exec runs a statement, written with question marks, that returns no rows. what says in errors what it does.
func (t *Tx) Exec(what, query string, args ...any) error {
	_, err := t.change(what, query, args...)
	return err
}

// Wrote reports whether a statement was run that may have changed rows.
func (t *Tx) Wrote() bool { return t.wrote }

// change is Exec that returns the number of changed rows.
func (t *Tx) change(what, query string, args ...any) (int64, error) {
	t.wrote = true
	res, err := t.t.ExecContext(t.ctx, t.dialect.query(query), args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return res.RowsAffected()
}

// row runs a query for one row; reading it gives store.ErrNotFound when there is none.
func (t *Tx) row(query string, args ...any) func(...any) error {
	scan := t.t.QueryRowContext(t.ctx, t.dialect.query(query), args...).Scan
	return func(into ...any) error {
		err := scan(into...)
		if errors.Is(err, sql.ErrNoRows) {
			return store.ErrNotFound
		}
		return err
	}
}

// insert is row for a statement that inserts one and returns something of it.
func (t *Tx) insert(query string, args ...any) func(...any) error {
	t.wrote = true
	return t.row(query, args...)
}

// List runs a query, written with question marks, and converts each row to a value. what names the rows in errors.
func List[T any](t *Tx, what string, row func(scan func(...any) error) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.t.QueryContext(t.ctx, t.dialect.query(query), args...)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", what, err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := row(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("read a row of %s: %w", what, err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list %s: %w", what, err)
	}
	return out, nil
}

// listSizes are the numbers of values that a list in a statement has: few, so that statements can be kept prepared.
var listSizes = []int{1, 2, 8, 32, 128, 512, 2048}

// lists returns values cut into lists, and for each a list of parameters, as IN (…) has it. The last value is repeated up to a
// usual number, which is harmless in a list.
func lists[T any](values []T) func(yield func(parameters string, args []any) bool) {
	return func(yield func(string, []any) bool) {
		most := listSizes[len(listSizes)-1]
		for len(values) > 0 {
			part := values[:min(len(values), most)]
			values = values[len(part):]
			i, _ := slices.BinarySearch(listSizes, len(part))
			args := make([]any, listSizes[i])
			for n := range args {
				args[n] = part[min(n, len(part)-1)]
			}
			if !yield("?"+strings.Repeat(",?", len(args)-1), args) {
				return
			}
		}
	}
}

// parameters returns as many question marks as a list of columns has names.
func parameters(columns string) string {
	return "?" + strings.Repeat(",?", strings.Count(columns, ","))
}

// upsert returns the statement that stores a row: it replaces the row with the same key. Both arguments are lists of columns; the
// second holds the first.
func upsert(table, key, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + parameters(columns) + ")" + replace(key, columns)
}

// replace returns the end of a statement that inserts a row: it replaces the row with the same key.
func replace(key, columns string) string {
	keys := strings.Split(key, ", ")
	var set []string
	for c := range strings.SplitSeq(columns, ", ") {
		if !slices.Contains(keys, c) {
			set = append(set, c+" = excluded."+c)
		}
	}
	return " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(set, ", ")
}
