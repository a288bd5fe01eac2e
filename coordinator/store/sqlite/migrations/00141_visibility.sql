-- +goose Up
CREATE TABLE visibility (               -- what was decided about who sees a finding; none for a finding that its project sees
  finding    TEXT PRIMARY KEY,
  visibility BLOB NOT NULL              -- FindingVisibility
) STRICT;

-- +goose Down
DROP TABLE visibility;
