package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"misstep/bench"
	"misstep/internal/testenv/pgtest"
)

// phase is one campaign under faults, and the same without.
type phase struct {
	name string
	dir  string
	seed uint64
	// disturbed and calm are the two runs, without what run adds: folders, database, disk.
	disturbed, calm scene
	// exact: the outcomes of trials depend on nothing but their recipes. Otherwise only the findings are compared.
	exact bool
	// bucket: blobs are in an object store in the run under faults.
	bucket bool
	// diskMiB is the size of the disk that is made full.
	diskMiB int
	// left lists what is left of trials; nil for trials that leave nothing by their nature.
	left func(*fleet) ([]string, error)
}

// disk is the folder of the disk that is made full, calmStation that of the coordinator without faults.
func (p phase) disk() string        { return filepath.Join(p.dir, "disk") }
func (p phase) calmStation() string { return filepath.Join(p.dir, "calm", "station") }

// run runs the phase until a time: seven tenths of it under faults, the rest for the last trials and the run without faults.
func (p phase) run(ctx context.Context, until time.Time) (o outcome, err error) {
	began := time.Now()
	o = outcome{Phase: p.name, Seed: p.seed}
	mark := fmt.Sprintf("%d-%d", os.Getpid(), p.seed)
	d, c := p.disturbed, p.calm
	d.dir, d.station, d.log, d.mark = p.dir, p.disk(), filepath.Join(p.dir, "disturbed.log"), mark
	c.dir, c.station, c.log, c.mark, c.calm = p.dir, p.calmStation(), filepath.Join(p.dir, "calm.log"), mark, true
	if err := os.MkdirAll(filepath.Join(p.dir, "calm"), 0o755); err != nil {
		return o, err
	}
	unmount, err := smallDisk(d.station, p.diskMiB)
	if err != nil {
		o.Notes = append(o.Notes, "no full disk: "+err.Error())
	}
	d.small = err == nil
	defer func() { err = errors.Join(err, unmount()) }()
	if d.database, err = pgtest.New("max_connections=200"); err != nil {
		o.Notes = append(o.Notes, "one coordinator on SQLite: "+err.Error())
	} else {
		defer d.database.Remove()
	}
	if p.bucket {
		if d.bucket, err = newBucket(filepath.Join(p.dir, "objects"), p.seed); err != nil {
			return o, fmt.Errorf("object store: %w", err)
		}
		defer func() { err = errors.Join(err, d.bucket.remove()) }()
	}
	lastFault := began.Add(time.Until(until) * 7 / 10)
	got, f, err := d.play(ctx, p.seed, maxTrials, lastFault)
	if f != nil {
		o.Faults, o.Skipped, o.Surprises = f.Counts, f.Skipped, f.surprises()
		if d.bucket != nil {
			o.Requests = d.bucket.proxy.Hits()
		}
	}
	if err != nil {
		return o, fmt.Errorf("%s under faults (log in %s): %w", p.name, d.log, err)
	}
	o.Settling = time.Since(lastFault).Seconds()
	left, err := leftProcesses(mark)
	if err == nil && p.left != nil {
		var ofTrials []string
		ofTrials, err = p.left(f)
		left = append(left, ofTrials...)
	}
	if err != nil {
		return o, err
	}
	o.Left = left
	bench.Note("%s: %d faults, %d trials; the same without faults", p.name, o.faults(), got.Recorded)
	calmFrom := time.Now()
	want, _, err := c.play(ctx, p.seed, uint64(max(1, got.Recorded)), until)
	if err != nil {
		return o, fmt.Errorf("%s without faults (log in %s): %w", p.name, c.log, err)
	}
	o.Calm = time.Since(calmFrom).Seconds()
	o.compare(got, want, p.exact)
	o.Panics, err = panics(d.log)
	o.Seconds = time.Since(began).Seconds()
	bench.Note("%s: %s", p.name, o.verdict())
	return o, err
}

// maxTrials is more than a run under faults makes.
const maxTrials = 1e9
