-- Jobs are selected by what a runner can run. Trials are counted as they come in, by combination: what rates are made of is read
-- without the trials.

-- +goose Up
ALTER TABLE jobs ADD COLUMN needs TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE TABLE combinations (
  id           BIGINT PRIMARY KEY,      -- a part of the digest of the texts
  campaign     TEXT COLLATE "C" NOT NULL,
  jdk          TEXT COLLATE "C" NOT NULL,
  workload     TEXT COLLATE "C" NOT NULL,
  flag_set     TEXT COLLATE "C" NOT NULL,
  checks       TEXT COLLATE "C" NOT NULL,
  perturbation TEXT COLLATE "C" NOT NULL,
  ratio        TEXT COLLATE "C" NOT NULL,
  interval     TEXT COLLATE "C" NOT NULL,
  profiler     TEXT COLLATE "C" NOT NULL
);
ALTER TABLE trials ADD COLUMN combination BIGINT NOT NULL DEFAULT 0;

CREATE TABLE combination_counts (
  span         BIGINT NOT NULL,         -- of ids of trials, 4,096 each
  combination  BIGINT NOT NULL,
  n            BIGINT NOT NULL,         -- trials that count
  PRIMARY KEY (span, combination)
);

CREATE TABLE shown_counts (
  combination  BIGINT NOT NULL,
  findings     TEXT COLLATE "C" NOT NULL, -- all that a trial showed: ids in ascending order, joined by commas
  n            BIGINT NOT NULL,         -- trials that showed these
  PRIMARY KEY (combination, findings)
);

CREATE TABLE last_hits (
  finding      TEXT COLLATE "C" NOT NULL,
  jdk          TEXT COLLATE "C" NOT NULL,
  trial        BIGINT NOT NULL,         -- the last one that showed the finding on the JDK
  ended        BIGINT NOT NULL,
  PRIMARY KEY (finding, jdk)
);

-- +goose Down
DROP TABLE last_hits, shown_counts, combination_counts;
ALTER TABLE trials DROP COLUMN combination;
DROP TABLE combinations;
ALTER TABLE jobs DROP COLUMN needs;
