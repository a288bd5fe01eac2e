-- What is true of the whole store, above all its identity, by which blobs know whose they are.

-- +goose Up
CREATE TABLE properties (
  name   TEXT PRIMARY KEY,
  text   TEXT NOT NULL
) STRICT;
INSERT INTO properties (name, text) VALUES ('id', lower(hex(randomblob(8))));

-- +goose Down
DROP TABLE properties;
