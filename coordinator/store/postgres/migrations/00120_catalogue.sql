-- +goose Up
CREATE TABLE catalogue (                    -- shared by all who submit campaigns
  kind           BIGINT NOT NULL,           -- CatalogueKind
  name           TEXT COLLATE "C" NOT NULL,
  entry          BYTEA NOT NULL,            -- CatalogueEntry
  PRIMARY KEY (kind, name)
);

-- +goose Down
DROP TABLE catalogue;
