-- What rates are made of stands with each trial: a trial that shows two findings that turn out to be one counts once.

-- +goose Up
ALTER TABLE trials ADD COLUMN counts       INTEGER NOT NULL DEFAULT 0; -- it proved something
ALTER TABLE trials ADD COLUMN jdk          TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN workload     TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN flag_set     TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN checks       TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN perturbation TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN ratio        TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN interval     TEXT NOT NULL DEFAULT '';
CREATE INDEX trials_combination ON trials (counts, campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval);

CREATE TABLE shown (
  finding    TEXT NOT NULL,
  trial      INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
  PRIMARY KEY (finding, trial)
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  decision   BLOB NOT NULL              -- TriageDecision
) STRICT;

DROP TABLE hits;
DROP TABLE counts;

-- +goose Down
DROP TABLE decisions;
DROP TABLE shown;
DROP INDEX trials_combination;
ALTER TABLE trials DROP COLUMN interval;
ALTER TABLE trials DROP COLUMN ratio;
ALTER TABLE trials DROP COLUMN perturbation;
ALTER TABLE trials DROP COLUMN checks;
ALTER TABLE trials DROP COLUMN flag_set;
ALTER TABLE trials DROP COLUMN workload;
ALTER TABLE trials DROP COLUMN jdk;
ALTER TABLE trials DROP COLUMN counts;
CREATE TABLE counts (
  campaign   TEXT NOT NULL,
  jdk        TEXT NOT NULL,
  workload   TEXT NOT NULL,
  flag_set   TEXT NOT NULL,
  checks     TEXT NOT NULL,
  n          INTEGER NOT NULL,
  PRIMARY KEY (campaign, jdk, workload, flag_set, checks)
) STRICT, WITHOUT ROWID;
CREATE TABLE hits (
  finding    TEXT NOT NULL,
  campaign   TEXT NOT NULL,
  jdk        TEXT NOT NULL,
  workload   TEXT NOT NULL,
  flag_set   TEXT NOT NULL,
  checks     TEXT NOT NULL,
  n          INTEGER NOT NULL,
  PRIMARY KEY (finding, campaign, jdk, workload, flag_set, checks)
) STRICT, WITHOUT ROWID;
