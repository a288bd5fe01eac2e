package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"misstep/app/retention"
	"misstep/app/station"
)

type storeVacuum struct {
	retentionFlags
	Dir    string        `arg:"" help:"Folder of a hunt or of a coordinator (which may be running)." type:"path" placeholder:"DIR"`
	Store  string        `help:"Store of the coordinator when it is not in the folder, e.g. postgres://USER@HOST/DATABASE." placeholder:"URL"`
	Grace  time.Duration `within:"[1h40m,)" help:"Keep blobs that were stored or asked for within this time." default:"168h" placeholder:"TIME"`
	Delete bool          `help:"Remove; without it, only report what would be removed."`
	JSON   bool          `help:"Print {trials, evidence_bytes, entries, kept, spared, removed, bytes, deleted}."`
}

// Run makes one round.
func (c *storeVacuum) Run(ctx context.Context, e *env) (err error) {
	keeper, done, err := station.Keeper(ctx, c.Dir, c.Store, retention.Plan{Rules: c.rules(), Grace: c.Grace}, e.warnings())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	aged, swept, err := keeper.Round(ctx, c.Delete)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(struct {
			Trials   int   `json:"trials"`
			Evidence int64 `json:"evidence_bytes"`
			Entries  int   `json:"entries"`
			Kept     int   `json:"kept"`
			Spared   int   `json:"spared"`
			Removed  int   `json:"removed"`
			Bytes    int64 `json:"bytes"`
			Deleted  bool  `json:"deleted"`
		}{aged.Trials, aged.Evidence, aged.Entries, swept.Kept, swept.Spared, swept.Removed, swept.Bytes, c.Delete})
	}
	trials, blobs := "would age", "would be removed; --delete does it"
	if c.Delete {
		trials, blobs = "have aged", "removed"
	}
	if aged.Entries > 0 {
		fmt.Fprintf(e.stdout, "%d entries of the shared catalogue %s\n", aged.Entries, trials)
	}
	_, err = fmt.Fprintf(e.stdout, "%d trials %s (%d bytes of evidence)\n"+
		"%d blobs are referred to, %d are younger than %v, %d (%d bytes) %s\n",
		aged.Trials, trials, aged.Evidence, swept.Kept, swept.Spared, c.Grace, swept.Removed, swept.Bytes, blobs)
	return err
}
