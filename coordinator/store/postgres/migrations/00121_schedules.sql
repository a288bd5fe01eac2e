-- +goose Up
CREATE TABLE schedules (
  id             TEXT COLLATE "C" PRIMARY KEY,
  next           BIGINT NOT NULL,           -- time of the next run, 0 for none
  early          BIGINT NOT NULL,           -- a clock that shows less was set back: the next run is too far away
  schedule       BYTEA NOT NULL             -- Schedule
);
CREATE TABLE retests (                      -- what became of reproducers on new builds
  id             TEXT COLLATE "C" PRIMARY KEY,
  finding        TEXT COLLATE "C" NOT NULL,
  started        BIGINT NOT NULL,
  retest         BYTEA NOT NULL             -- Retest
);
CREATE INDEX retests_finding ON retests (finding);

-- +goose Down
DROP TABLE retests, schedules;
