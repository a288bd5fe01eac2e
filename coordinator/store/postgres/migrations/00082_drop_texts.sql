-- +goose Up
ALTER TABLE trials DROP COLUMN jdk, DROP COLUMN workload, DROP COLUMN flag_set, DROP COLUMN checks, DROP COLUMN perturbation,
  DROP COLUMN ratio, DROP COLUMN interval, DROP COLUMN profiler;

-- +goose Down
ALTER TABLE trials ADD COLUMN jdk TEXT COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN workload TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN flag_set TEXT COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN checks TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN perturbation TEXT COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN ratio TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN interval TEXT COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN profiler TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE trials SET jdk = c.jdk, workload = c.workload, flag_set = c.flag_set, checks = c.checks, perturbation = c.perturbation,
  ratio = c.ratio, interval = c.interval, profiler = c.profiler FROM combinations AS c WHERE c.id = combination;
