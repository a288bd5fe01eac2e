package main

import (
	"context"
	"fmt"
	"path/filepath"

	"misstep/bench"
	"misstep/internal/testenv/pgtest"
)

// database is a kind of store that is measured.
type database struct {
	name string
	// bare names an empty store.
	bare string
	// of names the store that is filled up to a number of results; the same store for the same number.
	of func(ctx context.Context, filled uint64) (url string, err error)
	// coordinators are the numbers of them that work on it.
	coordinators []int
	// server of the store, nil for those without one.
	server *pgtest.Server
}

// volatile reports whether the store is lost with its process, so that it cannot be filled before.
func (d database) volatile() bool { return d.name == "memory" }

// databases makes the stores; the caller calls remove. Those in dir stay.
func databases(ctx context.Context, dir string, names []string) (all []database, remove func(), err error) {
	remove = func() {}
	for _, name := range names {
		switch name {
		case "sqlite":
			of := func(_ context.Context, filled uint64) (string, error) {
				return filepath.Join(dir, fmt.Sprint("filled-", filled)), nil
			}
			all = append(all, database{name, filepath.Join(dir, "bare"), of, []int{1}, nil})
		case "memory":
			of := func(context.Context, uint64) (string, error) { return "memory:", nil }
			all = append(all, database{name, "memory:", of, []int{1}, nil})
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
			bare, err := server.Create(ctx, "bare")
			if err != nil {
				remove()
				return nil, nil, fmt.Errorf("make a database: %w", err)
			}
			all = append(all, database{name, bare, inServer(server), []int{1, 2}, server})
		}
	}
	return all, remove, nil
}

// inServer makes a database for each number of results.
func inServer(server *pgtest.Server) func(context.Context, uint64) (string, error) {
	made := map[uint64]string{}
	return func(ctx context.Context, filled uint64) (string, error) {
		if url := made[filled]; url != "" {
			return url, nil
		}
		url, err := server.Create(ctx, fmt.Sprint("filled", filled))
		if err != nil {
			return "", fmt.Errorf("make a database: %w", err)
		}
		made[filled] = url
		return url, nil
	}
}
