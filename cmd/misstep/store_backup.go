package main

import (
	"context"
	"fmt"
	"io"

	"misstep/app/backup"
)

type storeBackup struct {
	Dir   string `arg:"" help:"Folder of a hunt or of a coordinator (which may be running)." type:"path" placeholder:"DIR"`
	To    string `arg:"" help:"Folder of the backup. One that is there already is replaced when the new one is whole; blobs that it has are not copied again." type:"path" placeholder:"TO"`
	Store string `help:"Store of the coordinator when it is not in the folder, e.g. postgres://USER@HOST/DATABASE." placeholder:"URL"`
	JSON  bool   `help:"Print {blobs, copied, bytes, lost, catalogued, bucket}."`
}

// Run backs up.
func (c *storeBackup) Run(ctx context.Context, e *env) error {
	catalogue, err := e.installation().Trees()
	if err != nil {
		return err
	}
	report, err := backup.Make(ctx, c.Dir, c.Store, c.To, catalogue...)
	if err != nil {
		return err
	}
	return printBackup(e, report, c.JSON)
}

type storeRestore struct {
	From string `arg:"" help:"Folder of a backup." type:"path" placeholder:"FROM"`
	Dir  string `arg:"" help:"Folder for a coordinator, without a store." type:"path" placeholder:"DIR"`
	JSON bool   `help:"Print {blobs, copied, bytes, lost, damaged, bucket}."`
}

// Run restores.
func (c *storeRestore) Run(ctx context.Context, e *env) error {
	report, err := backup.Restore(ctx, c.From, c.Dir)
	if err != nil {
		return err
	}
	if err := printBackup(e, report, c.JSON); err != nil {
		return err
	}
	if n := len(report.Damaged); n > 0 {
		return &exitError{code: exitFound, err: fmt.Errorf("damaged in the backup, and not restored: %s; evidence and trees that "+
			"need them cannot be read; a second backup may have them", plural(n, "blob"))}
	}
	return nil
}

func printBackup(e *env, r backup.Report, asJSON bool) error {
	if asJSON {
		if r.Lost == nil {
			r.Lost = []string{}
		}
		return e.json(struct {
			Blobs  int      `json:"blobs"`
			Copied int      `json:"copied"`
			Bytes  int64    `json:"bytes"`
			Lost   []string `json:"lost"`
			// Damaged is of restore only.
			Damaged []string `json:"damaged,omitempty"`
			// Catalogued is of backup only.
			Catalogued int    `json:"catalogued,omitempty"`
			Bucket     string `json:"bucket"`
		}{r.Blobs, r.Copied, r.Bytes, r.Lost, r.Damaged, r.Catalogued, r.Bucket})
	}
	where := fmt.Sprintf("%d of them (%d bytes) copied", r.Copied, r.Bytes)
	if r.Bucket != "" {
		where = "which stay in " + r.Bucket
	}
	if _, err := fmt.Fprintf(e.stdout, "the store and %d blobs, %s\n", r.Blobs, where); err != nil {
		return err
	}
	if r.Catalogued > 0 {
		_, err := fmt.Fprintf(e.stdout, "only in the catalogue of this machine, since no trial has needed them yet: "+
			"%s of JDKs and workloads\n", plural(r.Catalogued, "file"))
		if err != nil {
			return err
		}
	}
	if err := printBlobs(e.stdout, "not there any more, though something refers to it", r.Lost); err != nil {
		return err
	}
	return printBlobs(e.stdout, "damaged in the backup", r.Damaged)
}

// shownLost is how many lost blobs are listed.
const shownLost = 10

func printBlobs(w io.Writer, what string, lost []string) error {
	for i, d := range lost {
		if i == shownLost {
			_, err := fmt.Fprintf(w, "… and %d more\n", len(lost)-i)
			return err
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", what, d); err != nil {
			return err
		}
	}
	return nil
}
