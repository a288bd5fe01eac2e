package main

import (
	"context"
	"fmt"
	"time"

	"misstep/app/sharing"
)

type corpusGC struct {
	Dir    string        `arg:"" help:"Folder of a corpus, of a hunt or of a coordinator (which may be running)." type:"path" placeholder:"DIR"`
	Store  string        `help:"Store of the coordinator when it was started with --store." placeholder:"URL"`
	Grace  time.Duration `within:"[1h40m,)" help:"Keep what was stored or asked for within this time." default:"168h" placeholder:"TIME"`
	Delete bool          `help:"Remove; without it, only report what would be removed."`
	JSON   bool          `help:"Print {kept, spared, removed, bytes, deleted}."`
}

// Run sweeps a folder.
func (c *corpusGC) Run(ctx context.Context, e *env) error {
	swept, err := sharing.Sweep(ctx, c.Dir, c.Store, c.Grace, c.Delete)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(struct {
			Kept    int   `json:"kept"`
			Spared  int   `json:"spared"`
			Removed int   `json:"removed"`
			Bytes   int64 `json:"bytes"`
			Deleted bool  `json:"deleted"`
		}{swept.Kept, swept.Spared, swept.Removed, swept.Bytes, c.Delete})
	}
	verb := "would be removed; --delete removes them"
	if c.Delete {
		verb = "removed"
	}
	_, err = fmt.Fprintf(e.stdout, "%d blobs are referred to, %d are younger than %v, %d (%d bytes) %s\n",
		swept.Kept, swept.Spared, c.Grace, swept.Removed, swept.Bytes, verb)
	return err
}
