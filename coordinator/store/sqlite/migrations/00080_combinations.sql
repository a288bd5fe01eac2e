-- Trials are counted as they come in, by combination: what rates are made of is read without the trials. Migration 81 fills the
-- tables from the trials of older versions, whose rows keep the texts of their combinations.

-- +goose Up
CREATE TABLE combinations (
  id           INTEGER PRIMARY KEY,     -- a part of the digest of the texts
  campaign     TEXT NOT NULL,
  jdk          TEXT NOT NULL,
  workload     TEXT NOT NULL,
  flag_set     TEXT NOT NULL,
  checks       TEXT NOT NULL,
  perturbation TEXT NOT NULL,
  ratio        TEXT NOT NULL,
  interval     TEXT NOT NULL,
  profiler     TEXT NOT NULL
) STRICT;
ALTER TABLE trials ADD COLUMN combination INTEGER NOT NULL DEFAULT 0;

CREATE TABLE combination_counts (
  span         INTEGER NOT NULL,        -- of ids of trials, 4,096 each
  combination  INTEGER NOT NULL,
  n            INTEGER NOT NULL,        -- trials that count
  PRIMARY KEY (span, combination)
) STRICT, WITHOUT ROWID;

CREATE TABLE shown_counts (
  combination  INTEGER NOT NULL,
  findings     TEXT NOT NULL,           -- all that a trial showed: ids in ascending order, joined by commas
  n            INTEGER NOT NULL,        -- trials that showed these
  PRIMARY KEY (combination, findings)
) STRICT, WITHOUT ROWID;

CREATE TABLE last_hits (
  finding      TEXT NOT NULL,
  jdk          TEXT NOT NULL,
  trial        INTEGER NOT NULL,        -- the last one that showed the finding on the JDK
  ended        INTEGER NOT NULL,
  PRIMARY KEY (finding, jdk)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE last_hits;
DROP TABLE shown_counts;
DROP TABLE combination_counts;
ALTER TABLE trials DROP COLUMN combination;
DROP TABLE combinations;
