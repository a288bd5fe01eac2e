package batch

import "slices"

// journal holds how to undo the changes of the current call.
type journal struct{ undo []func() }

func (j *journal) note(undo func()) { j.undo = append(j.undo, undo) }

// keep makes the changes permanent for the rest of the transaction.
func (j *journal) keep() {
	clear(j.undo)
	j.undo = j.undo[:0]
}

// drop undoes the changes, the last one first.
func (j *journal) drop() {
	for _, undo := range slices.Backward(j.undo) {
		undo()
	}
	j.keep()
}

// table holds the rows of one kind that the transaction has read or changed.
type table[K comparable, V any] struct {
	journal *journal
	rows    map[K]row[V]
	// index has the rows that are present.
	index index[K, V]
	// changed are the keys of rows that are to be written, in the order of their first change; one may need no writing any more.
	changed []K
	// looks is how often a row was looked at, which is what most of a transaction's time is for.
	looks int
}

// index is an order of rows, beside the table.
type index[K comparable, V any] interface {
	add(k K, v V)
	remove(k K, v V)
}

// look returns what is known of a key.
func (t *table[K, V]) look(k K) row[V] {
	t.looks++
	return t.rows[k]
}

// row is what is known of a key.
type row[V any] struct {
	value V
	// present is false for a row that is missing or deleted.
	present bool
	// changed is true when the row differs from the one below.
	changed bool
	// below is true when the store below has a row with the key, or may have.
	below bool
}

// newTable returns an empty table; x may be nil.
func newTable[K comparable, V any](j *journal, x index[K, V]) *table[K, V] {
	return &table[K, V]{journal: j, rows: map[K]row[V]{}, index: x}
}

// read notes a row of the store below, unless more is known of it.
func (t *table[K, V]) read(k K, v V) {
	if _, known := t.rows[k]; !known {
		t.replace(k, row[V]{value: v, present: true, below: true}, true)
	}
}

// missing notes that the store below has no row with the key.
func (t *table[K, V]) missing(k K) {
	if _, known := t.rows[k]; !known {
		t.rows[k] = row[V]{}
	}
}

func (t *table[K, V]) put(k K, v V) {
	t.set(k, row[V]{value: v, present: true, changed: true, below: t.rows[k].below})
}

// remove deletes a row. Of an unknown row it assumes that the store below has it.
func (t *table[K, V]) remove(k K) {
	old, known := t.rows[k]
	if known && !old.present {
		return
	}
	t.set(k, row[V]{changed: true, below: old.below || !known})
}

func (t *table[K, V]) set(k K, r row[V]) {
	old, known := t.rows[k]
	t.replace(k, r, true)
	if !old.changed {
		t.changed = append(t.changed, k)
	}
	t.journal.note(func() {
		t.replace(k, old, known)
		if !old.changed { // the changes after this one are undone
			t.changed = t.changed[:len(t.changed)-1]
		}
	})
}

// replace makes a row what it says, or unknown, here and in the index.
func (t *table[K, V]) replace(k K, r row[V], known bool) {
	if old := t.look(k); old.present && t.index != nil {
		t.index.remove(k, old.value)
	}
	if r.present && t.index != nil {
		t.index.add(k, r.value)
	}
	if t.rows[k] = r; !known {
		delete(t.rows, k)
	}
}

// pending returns the rows to add and to replace, and the keys to delete, in the store below, in the order of their first change.
func (t *table[K, V]) pending() (add, replace []V, remove []K) {
	for _, k := range t.changed {
		r := t.rows[k]
		switch {
		case r.present && r.below:
			replace = append(replace, r.value)
		case r.present:
			add = append(add, r.value)
		case r.below:
			remove = append(remove, k)
		}
	}
	return add, replace, remove
}

// written notes that what was pending is now in the store below.
func (t *table[K, V]) written() {
	for _, k := range t.changed {
		r := t.rows[k]
		r.changed, r.below = false, r.present
		t.rows[k] = r
	}
	t.changed = t.changed[:0]
}

// each calls visit for every present row.
func (t *table[K, V]) each(visit func(K, V)) {
	for k, r := range t.rows {
		if r.present {
			visit(k, r.value)
		}
	}
}
