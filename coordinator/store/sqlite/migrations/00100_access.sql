-- +goose Up
CREATE TABLE tokens (
  id         TEXT PRIMARY KEY,
  made       INTEGER NOT NULL,
  hash       BLOB NOT NULL,             -- SHA-256 of the secret
  token      BLOB NOT NULL              -- Token
) STRICT;
CREATE TABLE access (
  person     TEXT NOT NULL,             -- or
  team       TEXT NOT NULL,             -- a group of the provider
  project    TEXT NOT NULL,
  role       INTEGER NOT NULL,          -- Role
  access     BLOB NOT NULL,             -- AccessGrant
  PRIMARY KEY (person, team, project, role)
) STRICT;
CREATE TABLE audit (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  caller     TEXT NOT NULL,
  entry      BLOB NOT NULL              -- AuditEntry
) STRICT;
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_caller ON audit (caller, id);

-- +goose Down
DROP TABLE audit;
DROP TABLE access;
DROP TABLE tokens;
