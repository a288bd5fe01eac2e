-- +goose Up
CREATE TABLE repetitions (                  -- trials that are to be run once more elsewhere
  campaign       TEXT COLLATE "C" NOT NULL,
  idx            BIGINT NOT NULL,
  lease          TEXT NOT NULL,             -- under which it runs, or ''
  needs          TEXT NOT NULL,             -- capability of a runner, or ''
  owner          TEXT NOT NULL,             -- of the first result
  holder         TEXT NOT NULL,             -- the runner of that owner
  agent          TEXT NOT NULL,             -- digest of the campaign's agent, or ''
  drawn          BIGINT NOT NULL,
  repetition     BYTEA NOT NULL,            -- Repetition
  PRIMARY KEY (campaign, idx)
);
CREATE INDEX repetitions_drawn ON repetitions (drawn);

-- +goose Down
DROP TABLE repetitions;
