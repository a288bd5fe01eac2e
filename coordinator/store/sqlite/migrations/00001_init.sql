-- Times are nanoseconds since 1970 in UTC, 0 for none. Blobs are protobuf messages in their binary form.

-- +goose Up
CREATE TABLE campaigns (
  id         TEXT PRIMARY KEY,
  submission BLOB NOT NULL,             -- SubmitCampaignRequest
  state      INTEGER NOT NULL,          -- CampaignState
  submitted  INTEGER NOT NULL,
  ended      INTEGER NOT NULL,
  next       INTEGER NOT NULL,          -- index of the next trial to be made
  turn       INTEGER NOT NULL,          -- orders campaigns by their last grant
  tally      BLOB NOT NULL              -- CampaignStatus, sums of what finished
) STRICT;
CREATE INDEX campaigns_state ON campaigns (state, submitted);

CREATE TABLE jobs (
  campaign   TEXT NOT NULL,
  idx        INTEGER NOT NULL,
  failures   INTEGER NOT NULL,
  lost       INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  PRIMARY KEY (campaign, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
  id         TEXT PRIMARY KEY,
  runner     TEXT NOT NULL,
  campaign   TEXT NOT NULL,
  idx        INTEGER NOT NULL,
  failures   INTEGER NOT NULL,
  lost       INTEGER NOT NULL,
  recipe     BLOB NOT NULL,             -- Recipe
  granted    INTEGER NOT NULL,
  deadline   INTEGER NOT NULL,
  UNIQUE (campaign, idx)                -- at most one lease for each trial
) STRICT;
CREATE INDEX leases_runner ON leases (runner);
CREATE INDEX leases_deadline ON leases (deadline);

CREATE TABLE trials (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  campaign   TEXT NOT NULL,
  idx        INTEGER NOT NULL,
  recipe     BLOB NOT NULL,             -- Recipe
  outcome    BLOB,                      -- Outcome, or
  failure    BLOB,                      -- InfrastructureFailure
  findings   TEXT NOT NULL,             -- ids, joined by commas
  ended      INTEGER NOT NULL,
  UNIQUE (campaign, idx)                -- a result is recorded once
) STRICT;
CREATE INDEX trials_campaign ON trials (campaign, id);

CREATE TABLE findings (
  id         TEXT PRIMARY KEY,
  last_seen  INTEGER NOT NULL,
  finding    BLOB NOT NULL,             -- Finding without rates
  weight     INTEGER NOT NULL           -- frames in the example's stacks
) STRICT;

CREATE TABLE counts (
  campaign   TEXT NOT NULL,
  jdk        TEXT NOT NULL,
  workload   TEXT NOT NULL,
  flag_set   TEXT NOT NULL,
  checks     TEXT NOT NULL,
  n          INTEGER NOT NULL,          -- trials that were not void
  PRIMARY KEY (campaign, jdk, workload, flag_set, checks)
) STRICT, WITHOUT ROWID;

CREATE TABLE hits (
  finding    TEXT NOT NULL,
  campaign   TEXT NOT NULL,
  jdk        TEXT NOT NULL,
  workload   TEXT NOT NULL,
  flag_set   TEXT NOT NULL,
  checks     TEXT NOT NULL,
  n          INTEGER NOT NULL,          -- trials that showed the finding
  PRIMARY KEY (finding, campaign, jdk, workload, flag_set, checks)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE hits;
DROP TABLE counts;
DROP TABLE findings;
DROP TABLE trials;
DROP TABLE leases;
DROP TABLE jobs;
DROP TABLE campaigns;
