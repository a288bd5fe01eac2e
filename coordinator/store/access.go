package store

import (
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Token is a token with the hash of its secret.
type Token struct {
	// Proto has no secret; its id is the key.
	Proto *misstepv1.Token
	// Hash is the SHA-256 of the secret.
	Hash []byte
}

// AuditFilter selects entries of the audit log; zero fields match everything.
type AuditFilter struct {
	// Since matches entries that are not older.
	Since time.Time
	// By matches the entries of the caller with that name.
	By string
	// Before matches entries with lower ids.
	Before uint64
	// Limit is the greatest number of entries to return; 0 returns all.
	Limit int
}

// Matches reports whether an entry matches the filter, whatever the limit is.
func (f AuditFilter) Matches(e *misstepv1.AuditEntry) bool {
	return (f.Since.IsZero() || !e.GetAt().AsTime().Before(f.Since)) && (f.By == "" || e.GetCaller() == f.By) &&
		(f.Before == 0 || e.GetId() < f.Before)
}

// AccessRows are the tokens by id, what is granted by its person, group, project and role, and the audit log.
type AccessRows interface {
	PutToken(*Token) error
	DeleteToken(id string) error
	// Token returns the token with that id; ErrNotFound.
	Token(id string) (*Token, error)
	// Tokens returns all, newest first, then by id.
	Tokens() ([]*Token, error)

	PutAccess(*misstepv1.AccessGrant) error
	DeleteAccess(*misstepv1.AccessGrant) error
	// Access returns all, by group, then by person, project and role; those of persons have no group and come first.
	Access() ([]*misstepv1.AccessGrant, error)

	// AddAudit appends an entry and returns its id, which grows with every call; e.Id is ignored.
	AddAudit(e *misstepv1.AuditEntry) (id uint64, err error)
	// Audit returns the entries that match the filter, the newest first.
	Audit(AuditFilter) ([]*misstepv1.AuditEntry, error)
	// TrimAudit deletes the entries that are older than a time, and those with ids up to another.
	TrimAudit(before time.Time, upTo uint64) error
}
