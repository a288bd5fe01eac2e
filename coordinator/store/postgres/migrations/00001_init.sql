-- Times are nanoseconds since 1970 in UTC, 0 for none. BYTEA columns hold protobuf messages in their binary form. Texts are ordered
-- by their bytes, whatever the locale of the database is.

-- +goose Up
CREATE TABLE campaigns (
  id             TEXT COLLATE "C" PRIMARY KEY,
  submission     BYTEA NOT NULL,            -- SubmitCampaignRequest
  state          BIGINT NOT NULL,           -- CampaignState
  submitted      BIGINT NOT NULL,
  ended          BIGINT NOT NULL,
  next           BIGINT NOT NULL,           -- index of the next trial to be made
  turn           BIGINT NOT NULL,           -- orders campaigns by their last grant
  tally          BYTEA NOT NULL,            -- CampaignStatus, sums of what finished
  probes         BOOLEAN NOT NULL,          -- a reproduction's
  strategy_state BYTEA                      -- what the campaign's strategy keeps; its own format
);
CREATE INDEX campaigns_state ON campaigns (state, submitted);

CREATE TABLE jobs (
  campaign       TEXT COLLATE "C" NOT NULL,
  idx            BIGINT NOT NULL,
  failures       BIGINT NOT NULL,
  lost           BIGINT NOT NULL,
  not_before     BIGINT NOT NULL,
  recipe         BYTEA,                     -- Recipe
  PRIMARY KEY (campaign, idx)
);

CREATE TABLE leases (
  id             TEXT COLLATE "C" PRIMARY KEY,
  runner         TEXT COLLATE "C" NOT NULL,
  campaign       TEXT COLLATE "C" NOT NULL,
  idx            BIGINT NOT NULL,
  failures       BIGINT NOT NULL,
  lost           BIGINT NOT NULL,
  recipe         BYTEA NOT NULL,            -- Recipe
  granted        BIGINT NOT NULL,
  deadline       BIGINT NOT NULL,
  UNIQUE (campaign, idx)                    -- at most one lease for each trial
);
CREATE INDEX leases_runner ON leases (runner);
CREATE INDEX leases_deadline ON leases (deadline);

CREATE TABLE trials (
  id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  campaign       TEXT COLLATE "C" NOT NULL,
  idx            BIGINT NOT NULL,
  recipe         BYTEA NOT NULL,            -- Recipe
  outcome        BYTEA,                     -- Outcome, or
  failure        BYTEA,                     -- InfrastructureFailure
  findings       TEXT COLLATE "C" NOT NULL, -- ids, joined by commas
  ended          BIGINT NOT NULL,
  counts         BOOLEAN NOT NULL,          -- it proved something
  jdk            TEXT COLLATE "C" NOT NULL, -- from here on, the combination by which rates are distinguished
  workload       TEXT COLLATE "C" NOT NULL,
  flag_set       TEXT COLLATE "C" NOT NULL,
  checks         TEXT COLLATE "C" NOT NULL,
  perturbation   TEXT COLLATE "C" NOT NULL,
  ratio          TEXT COLLATE "C" NOT NULL,
  interval       TEXT COLLATE "C" NOT NULL,
  profiler       TEXT COLLATE "C" NOT NULL,
  UNIQUE (campaign, idx)                    -- a result is recorded once
);
-- No index has the combination: its texts together may be longer than an entry of an index.
CREATE INDEX trials_campaign ON trials (campaign, id);

CREATE TABLE shown (
  finding        TEXT COLLATE "C" NOT NULL,
  trial          BIGINT NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
  PRIMARY KEY (finding, trial)
);
CREATE INDEX shown_trial ON shown (trial);

CREATE TABLE findings (
  id             TEXT COLLATE "C" PRIMARY KEY,
  last_seen      BIGINT NOT NULL,
  finding        BYTEA NOT NULL,            -- Finding without rates
  weight         BIGINT NOT NULL            -- frames in the example's stacks
);

CREATE TABLE decisions (
  id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  decision       BYTEA NOT NULL             -- TriageDecision
);

CREATE TABLE known_bugs (
  id             TEXT COLLATE "C" PRIMARY KEY,
  bug            BYTEA NOT NULL             -- KnownBug
);

CREATE TABLE reproductions (
  id             TEXT COLLATE "C" PRIMARY KEY,
  state          BIGINT NOT NULL,           -- ReproductionState
  started        BIGINT NOT NULL,
  reproduction   BYTEA NOT NULL             -- Reproduction
);
CREATE INDEX reproductions_state ON reproductions (state, started);

CREATE TABLE worker_state (                 -- what work beside the calls keeps between two rounds; each worker's own format
  name           TEXT COLLATE "C" PRIMARY KEY,
  data           BYTEA NOT NULL
);

CREATE TABLE commits (                      -- the last transaction of each process that writes
  writer         TEXT COLLATE "C" PRIMARY KEY,
  transaction    BIGINT NOT NULL,
  at             TIMESTAMPTZ NOT NULL
);

-- +goose Down
DROP TABLE commits, worker_state, reproductions, known_bugs, decisions, findings, shown, trials, leases, jobs, campaigns;
