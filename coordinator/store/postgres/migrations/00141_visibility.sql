-- +goose Up
CREATE TABLE visibility (                   -- what was decided about who sees a finding; none for a finding that its project sees
  finding    TEXT COLLATE "C" PRIMARY KEY,
  visibility BYTEA NOT NULL                 -- FindingVisibility
);

-- +goose Down
DROP TABLE visibility;
