-- +goose Up
CREATE TABLE reproductions (
  id           TEXT PRIMARY KEY,
  state        INTEGER NOT NULL,        -- ReproductionState
  started      INTEGER NOT NULL,
  reproduction BLOB NOT NULL            -- Reproduction
) STRICT;
CREATE INDEX reproductions_state ON reproductions (state, started);
ALTER TABLE campaigns ADD COLUMN probes INTEGER NOT NULL DEFAULT 0; -- 1: a reproduction's
ALTER TABLE jobs ADD COLUMN recipe BLOB; -- Recipe of a reproduction's probe

-- +goose Down
ALTER TABLE jobs DROP COLUMN recipe;
ALTER TABLE campaigns DROP COLUMN probes;
DROP TABLE reproductions;
