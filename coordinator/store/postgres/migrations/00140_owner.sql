-- +goose Up
ALTER TABLE campaigns ADD COLUMN owner TEXT COLLATE "C" NOT NULL DEFAULT ''; -- name of the caller who submitted it

-- +goose Down
ALTER TABLE campaigns DROP COLUMN owner;
