-- +goose Up
ALTER TABLE campaigns ADD COLUMN strategy_state BLOB; -- what the campaign's strategy keeps; its own format

-- +goose Down
ALTER TABLE campaigns DROP COLUMN strategy_state;
