-- +goose Up
ALTER TABLE campaigns ADD COLUMN owner TEXT COLLATE "C" NOT NULL DEFAULT ''; -- name of the caller who submitted it
ALTER TABLE campaigns ADD COLUMN owner_turn BIGINT NOT NULL DEFAULT 0; -- the owner's turn when it was last served

-- +goose Down
ALTER TABLE campaigns DROP COLUMN owner_turn;
ALTER TABLE campaigns DROP COLUMN owner;
