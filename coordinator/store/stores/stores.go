// Package stores opens the store that a URL names. Only this package knows which kinds of store exist, and where the store is in
// the folder of a hunt or of a coordinator.
//
// To add a kind of store, implement store.Store in a package of its own, pass storetest, and add a line to openers.
package stores

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/postgres"
	"misstep/coordinator/store/sqlite"
)

// openers by scheme. Each receives what follows the scheme and its colon.
var openers = map[string]func(ctx context.Context, rest string, logger *slog.Logger) (store.Store, error){
	"memory": func(_ context.Context, rest string, _ *slog.Logger) (store.Store, error) {
		if rest != "" {
			return nil, fmt.Errorf("expected nothing after memory:, got %q", rest)
		}
		return memory.New(), nil
	},
	"postgres":   openPostgres,
	"postgresql": openPostgres,
	"sqlite": func(ctx context.Context, rest string, _ *slog.Logger) (store.Store, error) {
		return openSQLite(ctx, rest)
	},
}

// supported lists the supported URLs, for errors.
const supported = "memory:, postgres://USER@HOST/DATABASE, sqlite:FILE, and the path of a folder or of a database file"

// Shared reports whether several processes may work on the store that a URL names at the same time.
func Shared(url string) bool {
	m := scheme.FindStringSubmatch(url)
	return m != nil && (m[1] == "postgres" || m[1] == "postgresql")
}

// Database returns the path of the database file that a URL names; empty for stores that are none.
func Database(url string) string {
	m := scheme.FindStringSubmatch(url)
	switch {
	case m != nil && m[1] == "sqlite":
		return m[2]
	case m != nil || url == "":
		return ""
	}
	if info, err := os.Stat(url); err == nil && !info.IsDir() {
		return url
	}
	return File(url)
}

// HasPassword reports whether a URL of a store contains a password, which others on this machine see in the list of processes.
func HasPassword(url string) bool { return Redacted(url) != url }

// passwords matches the password in a URL, as a part of the user or as a parameter.
var passwords = regexp.MustCompile(`(://[^/?#@:]*:)[^/?#@]*(@)|([?&]password=)[^&#]*()`)

// Redacted returns a URL of a store with a password replaced by xxxxx.
func Redacted(url string) string { return passwords.ReplaceAllString(url, "$1${3}xxxxx$2") }

// scheme matches the scheme of a URL; the path of a folder whose name looks like one must begin with ./ instead.
var scheme = regexp.MustCompile(`^([a-z][a-z0-9+.-]*):(.*)$`)

// fileName is the database's name in a folder.
const fileName = "store.db"

// Open opens the store that a URL names:
//
//   - memory: is a new, empty store that is lost when it is closed;
//   - postgres://USER@HOST:PORT/DATABASE is a PostgreSQL database, which must exist, in the form that libpq knows;
//   - sqlite:FILE is a database file, created when it is missing;
//   - a path without a scheme is a database file if a file exists there, else a folder, created when it is missing, that holds one.
//
// A store or a folder into which something was being copied or restored when that broke off is refused. The error wraps
// store.ErrAway when the store's server may answer later. It names the URL without its password; the error for an unknown scheme
// also lists the supported ones. The caller closes the store.
func Open(ctx context.Context, url string) (store.Store, error) {
	return OpenLogged(ctx, url, slog.New(slog.DiscardHandler))
}

// OpenLogged is Open for a store that says in a log when it has to wait for its server.
func OpenLogged(ctx context.Context, url string, logger *slog.Logger) (store.Store, error) {
	s, err := OpenTarget(ctx, url, logger)
	if err != nil {
		return nil, err
	}
	if err := complete(ctx, s); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %q: %w", Redacted(url), err), s.Close())
	}
	return s, nil
}

// OpenTarget is OpenLogged for a store into which another one is copied: it may have a part of such a copy.
func OpenTarget(ctx context.Context, url string, logger *slog.Logger) (store.Store, error) {
	m := scheme.FindStringSubmatch(url)
	if m == nil {
		return openPath(ctx, url)
	}
	open, ok := openers[m[1]]
	if !ok {
		return nil, fmt.Errorf("open store %q: stores of the scheme %q are not supported; supported are %s", Redacted(url), m[1],
			supported)
	}
	s, err := open(ctx, m[2], logger)
	if err != nil {
		return nil, fmt.Errorf("open store %q: %w", Redacted(url), err)
	}
	return s, nil
}

func openPath(ctx context.Context, path string) (store.Store, error) {
	if path == "" {
		return nil, fmt.Errorf("open store: expected a URL or path, got none; supported are %s", supported)
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return openSQLite(ctx, path)
	}
	if err := CheckRestored(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("create folder %s for a store: %w", path, err)
	}
	return openSQLite(ctx, filepath.Join(path, fileName))
}

func openSQLite(ctx context.Context, path string) (store.Store, error) {
	if path == "" {
		return nil, errors.New("expected the path of a database file, as in sqlite:hunt/store.db")
	}
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err // not s: a nil *sqlite.Store in a store.Store is not nil
	}
	return s, nil
}

func openPostgres(ctx context.Context, rest string, logger *slog.Logger) (store.Store, error) {
	s, err := postgres.Open(ctx, "postgres:"+rest, logger)
	if err != nil {
		return nil, err // not s: a nil *postgres.Store in a store.Store is not nil
	}
	return s, nil
}

// Create creates the folder and an empty store in it; an existing store is not changed.
func Create(ctx context.Context, folder string) error {
	s, err := Open(ctx, folder)
	if err != nil {
		return err
	}
	return s.Close()
}

// Exists returns why the store that a URL names cannot be there; Open would make an empty one. Whether a database is there only its
// server knows.
func Exists(url string) error {
	path := url
	if m := scheme.FindStringSubmatch(url); m != nil {
		if m[1] != "sqlite" {
			return nil
		}
		path = m[2]
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = InFolder(path)
	}
	if err != nil {
		return fmt.Errorf("no store %s: %w", Redacted(url), err)
	}
	return nil
}

// InFolder returns nil when the folder holds a store, else why not (fs.ErrNotExist when there is none).
func InFolder(folder string) error {
	_, err := os.Stat(filepath.Join(folder, fileName))
	return err
}

// Snapshot copies the store in a folder, which may be in use, to the new file to.
func Snapshot(ctx context.Context, folder, to string) error {
	return sqlite.Snapshot(ctx, File(folder), to)
}

// File is the path of the store in a folder.
func File(folder string) string { return filepath.Join(folder, fileName) }
