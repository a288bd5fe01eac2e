-- +goose Up
CREATE TABLE worker_state ( -- what work beside the calls keeps between two rounds; each worker's own format
    name TEXT PRIMARY KEY,
    data BLOB NOT NULL
) STRICT;

-- +goose Down
DROP TABLE worker_state;
