package accounts

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"regexp"
	"strings"

	"misstep/coordinator/access"
)

// A token is "misstep_", its id, "_" and its secret. The prefix lets scanners of repositories and logs recognise one, and the id,
// which is no secret, says which one is to be revoked.
//
// The store has the SHA-256 of the whole token. Slow hashes (bcrypt, Argon2) protect passwords, which have few bits, from being
// guessed by whoever has the hashes. A secret has 256 random bits: no number of guesses finds it, and a fast hash keeps calls
// cheap.
const (
	secretBytes = 32 // 52 characters
	idBytes     = 6  // 10 characters
)

var (
	encoding = base32.HexEncoding.WithPadding(base32.NoPadding)
	tokenRE  = regexp.MustCompile(`^misstep_([0-9a-v]{10})_[0-9a-v]{52}$`)
	tokenID  = regexp.MustCompile(`^[0-9a-v]{10}$`)
)

// newSecret returns a new token and its id.
func newSecret(random io.Reader) (token, id string, err error) {
	raw := make([]byte, idBytes+secretBytes)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", "", fmt.Errorf("read randomness for a token: %w", err)
	}
	id = strings.ToLower(encoding.EncodeToString(raw[:idBytes]))
	return access.TokenPrefix + id + "_" + strings.ToLower(encoding.EncodeToString(raw[idBytes:])), id, nil
}

// idOf returns the id in a token; false when it is none.
func idOf(token string) (id string, ok bool) {
	m := tokenRE.FindStringSubmatch(token)
	if m == nil {
		return "", false
	}
	return m[1], true
}

func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
