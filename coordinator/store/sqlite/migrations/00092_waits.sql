-- A job that is due is found without those that are not: each is taken from one part of the index to the other when its time has
-- come.

-- +goose Up
ALTER TABLE jobs ADD COLUMN waits INTEGER NOT NULL DEFAULT 1; -- 0: its not_before has passed
CREATE INDEX jobs_ready ON jobs (campaign, needs, waits, idx);
CREATE INDEX jobs_waiting ON jobs (not_before) WHERE waits = 1;

-- +goose Down
DROP INDEX jobs_waiting;
DROP INDEX jobs_ready;
ALTER TABLE jobs DROP COLUMN waits;
