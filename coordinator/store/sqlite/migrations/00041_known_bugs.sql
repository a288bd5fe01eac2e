-- +goose Up
CREATE TABLE known_bugs (
  id         TEXT PRIMARY KEY,
  bug        BLOB NOT NULL              -- KnownBug
) STRICT;
-- Counts of the trials between two ids, without reading the trials themselves.
CREATE INDEX trials_order ON trials (counts, id, campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval);

-- +goose Down
DROP INDEX trials_order;
DROP TABLE known_bugs;
