package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"misstep/coordinator/store"
)

// mark is the text by which a target is marked as incomplete while a copy is being made. No two copies have the same.
type mark string

func newMark(source string) mark {
	return mark(fmt.Sprintf("copy of %s, begun at %s (%.8s)", source, time.Now().UTC().Format(time.RFC3339), rand.Text()))
}

// begin marks an empty target, or one that an earlier copy left incomplete, which it empties.
func (m mark) begin(ctx context.Context, to store.Store) error {
	earlier := ""
	err := to.View(ctx, func(tx store.Tx) error {
		l, err := loader(tx)
		if err != nil {
			return err
		}
		if earlier, err = l.Property(store.PropertyIncomplete); err != nil || earlier != "" {
			return err
		}
		return empty(l)
	})
	if err != nil {
		return err
	}
	return to.Update(ctx, func(tx store.Tx) error {
		l, err := mark(earlier).target(tx)
		if err != nil {
			return err
		}
		if earlier != "" {
			if err := l.Clear(); err != nil {
				return err
			}
		}
		return l.PutProperty(store.PropertyIncomplete, string(m))
	})
}

// target returns the rows of a target that still has this mark.
func (m mark) target(tx store.Tx) (store.Loader, error) {
	l, err := loader(tx)
	if err != nil {
		return nil, err
	}
	have, err := l.Property(store.PropertyIncomplete)
	if err == nil && have != string(m) {
		err = errors.New("another copy into the same target has begun meanwhile: let one end")
	}
	return l, err
}

// end makes a target whole.
func (m mark) end(ctx context.Context, to store.Store, id string) error {
	return to.Update(ctx, func(tx store.Tx) error {
		l, err := m.target(tx)
		if err != nil {
			return err
		}
		return errors.Join(l.PutProperty(store.PropertyID, id), l.PutProperty(store.PropertyIncomplete, ""))
	})
}

func empty(l store.Loader) error {
	have, err := Tables(l)
	if err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	for _, t := range have {
		if t.Rows > 0 {
			return fmt.Errorf("the target is not empty, it has %d %s: give a new folder or database", t.Rows, t.Name)
		}
	}
	return nil
}
