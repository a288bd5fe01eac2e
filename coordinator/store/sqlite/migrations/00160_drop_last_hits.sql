-- The last hits of findings are read from the log of all trials, which is kept in memory.

-- +goose Up
DROP TABLE last_hits;

-- +goose Down
CREATE TABLE last_hits (
  finding      TEXT NOT NULL,
  jdk          TEXT NOT NULL,
  trial        INTEGER NOT NULL,        -- the last one that showed the finding on the JDK
  ended        INTEGER NOT NULL,
  PRIMARY KEY (finding, jdk)
) STRICT, WITHOUT ROWID;
INSERT INTO last_hits (finding, jdk, trial, ended)
  SELECT finding, jdk, id, ended FROM trials JOIN
    (SELECT finding, jdk, max(trials.id) AS last FROM shown JOIN trials ON trials.id = trial
      JOIN combinations ON combinations.id = combination WHERE counts GROUP BY finding, jdk) AS hits
  ON id = last;
