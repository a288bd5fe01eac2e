-- What the recipes of a combination have in common is kept once. Rows of older versions have their recipes whole.

-- +goose Up
CREATE TABLE recipes (
  id     BIGINT PRIMARY KEY,            -- a part of the recipe's digest
  recipe BYTEA NOT NULL                 -- Recipe without its seed and perturbation
);
ALTER TABLE jobs ADD COLUMN template BIGINT NOT NULL DEFAULT 0; -- of recipes, 0 when the row's recipe is whole
ALTER TABLE leases ADD COLUMN template BIGINT NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN template BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE trials DROP COLUMN template;
ALTER TABLE leases DROP COLUMN template;
ALTER TABLE jobs DROP COLUMN template;
DROP TABLE recipes;
