package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"misstep/bench"
	"misstep/internal/testenv/pgtest"
)

// database is a kind of store that is measured.
type database struct {
	name string
	// url names an empty store, bare another one.
	url, bare string
	// coordinators are the numbers of them that work on it.
	coordinators []int
}

// volatile reports whether the store is lost with its process, so that it cannot be filled before.
func (d database) volatile() bool { return d.name == "memory" }

// databases makes the stores; the caller calls remove.
func databases(ctx context.Context, dir string, names []string) (all []database, remove func(), err error) {
	remove = func() {}
	for _, name := range names {
		switch name {
		case "sqlite":
			all = append(all, database{name, filepath.Join(dir, "store"), filepath.Join(dir, "bare"), []int{1}})
		case "memory":
			all = append(all, database{name, "memory:", "memory:", []int{1}})
		case "postgres":
			if _, err := pgtest.Binaries(); err != nil {
				bench.Note("PostgreSQL is not measured: %v", err)
				continue
			}
			// As durable as one in use, and with more memory than its defaults.
			server, err := pgtest.New("shared_buffers=1GB", "max_wal_size=8GB")
			if err != nil {
				return nil, nil, fmt.Errorf("start PostgreSQL: %w", err)
			}
			remove = server.Remove
			url, err1 := server.Create(ctx, "fleet")
			bare, err2 := server.Create(ctx, "bare")
			if err := errors.Join(err1, err2); err != nil {
				remove()
				return nil, nil, fmt.Errorf("make a database: %w", err)
			}
			all = append(all, database{name, url, bare, []int{1, 2}})
		}
	}
	return all, remove, nil
}
