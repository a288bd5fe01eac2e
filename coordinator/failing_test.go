package coordinator_test

import (
	"context"

	"misstep/coordinator/store"
)

// failing is a store whose commits fail while err is set, as on a full disk: the work is done and then rolled back.
type failing struct {
	store.Store
	err error
}

func (f *failing) Update(ctx context.Context, g func(store.Tx) error) error {
	return f.Store.Update(ctx, func(tx store.Tx) error {
		if err := g(tx); err != nil {
			return err
		}
		return f.err
	})
}
