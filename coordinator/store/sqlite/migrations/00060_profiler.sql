-- Rates are distinguished by the profiler, too. Older trials had none.

-- +goose Up
ALTER TABLE trials ADD COLUMN profiler TEXT NOT NULL DEFAULT 'none';
DROP INDEX trials_combination;
DROP INDEX trials_order;
CREATE INDEX trials_combination
  ON trials (counts, campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval, profiler);
CREATE INDEX trials_order
  ON trials (counts, id, campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval, profiler);

-- +goose Down
DROP INDEX trials_order;
DROP INDEX trials_combination;
CREATE INDEX trials_combination ON trials (counts, campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval);
CREATE INDEX trials_order ON trials (counts, id, campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval);
ALTER TABLE trials DROP COLUMN profiler;
