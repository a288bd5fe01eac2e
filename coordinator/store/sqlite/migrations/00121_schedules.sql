-- +goose Up
CREATE TABLE schedules (
  id         TEXT PRIMARY KEY,
  next       INTEGER NOT NULL,          -- time of the next run, 0 for none
  early      INTEGER NOT NULL,          -- a clock that shows less was set back: the next run is too far away
  schedule   BLOB NOT NULL              -- Schedule
) STRICT;
CREATE TABLE retests (                  -- what became of reproducers on new builds
  id         TEXT PRIMARY KEY,
  finding    TEXT NOT NULL,
  started    INTEGER NOT NULL,
  retest     BLOB NOT NULL              -- Retest
) STRICT;
CREATE INDEX retests_finding ON retests (finding);

-- +goose Down
DROP TABLE retests;
DROP TABLE schedules;
