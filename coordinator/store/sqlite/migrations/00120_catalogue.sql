-- +goose Up
CREATE TABLE catalogue (                -- shared by all who submit campaigns
  kind       INTEGER NOT NULL,          -- CatalogueKind
  name       TEXT NOT NULL,
  entry      BLOB NOT NULL,             -- CatalogueEntry
  PRIMARY KEY (kind, name)
) STRICT;

-- +goose Down
DROP TABLE catalogue;
