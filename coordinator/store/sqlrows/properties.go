package sqlrows

import (
	"errors"
	"fmt"
	"strings"

	"misstep/coordinator/store"
)

// Property implements store.PropertyRows.
func (t *Tx) Property(name string) (text string, err error) {
	err = t.row("SELECT text FROM properties WHERE name = ?", name)(&text)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read property %s of the store: %w", name, err)
	}
	return text, nil
}

// PutProperty implements store.PropertyRows.
func (t *Tx) PutProperty(name, text string) error {
	what := "store property " + name
	if text == "" {
		return t.Exec(what, "DELETE FROM properties WHERE name = ?", name)
	}
	return t.Exec(what, upsert("properties", "name", "name, text"), name, text)
}

// kept are the tables that Clear leaves alone: the version of the schema, the last transactions of processes, and the properties.
const kept = "('goose_db_version', 'commits', 'properties')"

// Clear implements store.Loader.
func (t *Tx) Clear() error {
	names := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name NOT IN " + kept
	if t.dialect == Dollar {
		names = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN " + kept
	}
	tables, err := List(t, "tables", func(scan func(...any) error) (name string, err error) { return name, scan(&name) }, names)
	if err != nil {
		return err
	}
	t.templates, t.known = nil, nil
	if t.dialect == Dollar {
		return t.Exec("empty the store", "TRUNCATE "+strings.Join(tables, ", "))
	}
	// Rows may be removed before those that they refer to.
	if err := t.Exec("empty the store", "PRAGMA defer_foreign_keys = ON"); err != nil {
		return err
	}
	for _, table := range tables {
		if err := t.Exec("empty table "+table, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	return nil
}
