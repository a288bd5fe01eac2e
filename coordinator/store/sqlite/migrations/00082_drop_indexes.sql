-- +goose Up
DROP INDEX trials_combination;
DROP INDEX trials_order;

-- +goose Down
CREATE INDEX trials_combination
  ON trials (counts, campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval, profiler);
CREATE INDEX trials_order
  ON trials (counts, id, campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval, profiler);
