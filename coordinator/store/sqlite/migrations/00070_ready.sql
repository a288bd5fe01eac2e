-- Jobs are selected by what a runner can run. The jobs of older versions are offered to every runner, whose capabilities the queue
-- checks.

-- +goose Up
ALTER TABLE jobs ADD COLUMN needs TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE jobs DROP COLUMN needs;
