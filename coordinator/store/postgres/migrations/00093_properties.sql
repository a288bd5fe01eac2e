-- What is true of the whole store, above all its identity, by which blobs know whose they are.

-- +goose Up
CREATE TABLE properties (
  name   TEXT COLLATE "C" PRIMARY KEY,
  text   TEXT COLLATE "C" NOT NULL
);
INSERT INTO properties (name, text) VALUES ('id', left(replace(gen_random_uuid()::text, '-', ''), 16));

-- +goose Down
DROP TABLE properties;
