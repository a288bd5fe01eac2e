-- The numbers of a campaign's jobs and leases are kept as these come and go: counting them takes the longer the more there are.

-- +goose Up
CREATE TABLE queued (
  campaign TEXT PRIMARY KEY,
  jobs     INTEGER NOT NULL,
  leases   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO queued (campaign, jobs, leases)
  SELECT campaign, sum(jobs), sum(leases) FROM
    (SELECT campaign, 1 AS jobs, 0 AS leases FROM jobs UNION ALL SELECT campaign, 0, 1 FROM leases) AS queue GROUP BY campaign;

-- +goose Down
DROP TABLE queued;
