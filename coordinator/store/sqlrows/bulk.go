package sqlrows

import (
	"fmt"
	"slices"
	"strings"

	"misstep/coordinator/store"
)

var _ store.Bulk = (*Tx)(nil)

// rowsAtOnce are the numbers of rows in one statement: few, so that statements can be kept prepared. More rows are hardly faster,
// and PostgreSQL's statements have at most 65,535 parameters.
var rowsAtOnce = []int{512, 128, 32, 8, 2, 1}

// chunks cuts a list into pieces of those lengths.
func chunks[T any](all []T) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		for _, n := range rowsAtOnce {
			for ; len(all) >= n; all = all[n:] {
				if !yield(all[:n]) {
					return
				}
			}
		}
	}
}

// insert adds rows, many with one statement. conflict is the end of the statement: it leaves out rows that exist already, for which
// insert returns store.ErrExists. row returns the values of the columns.
func insert[T any](t *Tx, what, table, columns, conflict string, all []T, row func(T) ([]any, error)) error {
	n, err := put(t, what, table, columns, conflict, all, row)
	if err != nil {
		return err
	}
	return allThere(what, n, len(all))
}

// put is insert for rows that may exist: conflict says what becomes of them. It returns how many rows were added or changed.
func put[T any](t *Tx, what, table, columns, conflict string, all []T, row func(T) ([]any, error)) (changed int, err error) {
	for chunk := range chunks(all) {
		query, args, err := insertion(table, columns, conflict, chunk, row)
		if err != nil {
			return changed, err
		}
		n, err := t.change("store "+what, query, args...)
		if err != nil {
			return changed, err
		}
		changed += int(n)
	}
	return changed, nil
}

// insertReturning is insert for rows with ids, which the end of the statement returns.
func insertReturning[T any](t *Tx, what, table, columns, end string, all []T, row func(T) ([]any, error)) ([]int64, error) {
	t.wrote = true
	ids := make([]int64, 0, len(all))
	for chunk := range chunks(all) {
		query, args, err := insertion(table, columns, end, chunk, row)
		if err != nil {
			return nil, err
		}
		made, err := List(t, "new "+what, scanID, query, args...)
		if err != nil {
			return nil, err
		}
		if err := allThere(what, len(made), len(chunk)); err != nil {
			return nil, err
		}
		slices.Sort(made) // rows get ascending ids in their order
		ids = append(ids, made...)
	}
	return ids, nil
}

func scanID(scan func(...any) error) (id int64, err error) { return id, scan(&id) }

func insertion[T any](table, columns, end string, chunk []T, row func(T) ([]any, error)) (query string, args []any, err error) {
	one := "(" + parameters(columns) + ")"
	for _, x := range chunk {
		values, err := row(x)
		if err != nil {
			return "", nil, err
		}
		args = append(args, values...)
	}
	return "INSERT INTO " + table + " (" + columns + ") VALUES " + one + strings.Repeat(","+one, len(chunk)-1) + end, args, nil
}

func allThere(what string, n, of int) error {
	if n < of {
		return fmt.Errorf("store %s: %d of %d: %w", what, of-n, of, store.ErrExists)
	}
	return nil
}
