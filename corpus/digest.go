package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

const prefix = "sha256:"

// Digest is the SHA-256 of a blob. It is comparable, and valid by construction: the zero value means "no digest".
type Digest struct {
	sum [sha256.Size]byte
}

// DigestBytes returns the digest of data.
func DigestBytes(data []byte) Digest {
	return Digest{sum: sha256.Sum256(data)}
}

// ParseDigest reads the form that String writes: "sha256:" and 64 lowercase hexadecimal digits.
func ParseDigest(text string) (Digest, error) {
	digits, ok := strings.CutPrefix(text, prefix)
	if !ok || len(digits) != 2*sha256.Size || strings.ToLower(digits) != digits {
		return Digest{}, fmt.Errorf("digest %.100q: expected %q and 64 lowercase hexadecimal digits", text, prefix)
	}
	var d Digest
	if _, err := hex.Decode(d.sum[:], []byte(digits)); err != nil {
		return Digest{}, fmt.Errorf("digest %.100q: %w", text, err)
	}
	if d.IsZero() {
		return Digest{}, fmt.Errorf("digest %.100q: all zeros stand for no digest", text)
	}
	return d, nil
}

// String returns "sha256:" and 64 hexadecimal digits; the empty string for the zero value.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return prefix + d.Hex()
}

// Hex returns the 64 hexadecimal digits alone.
func (d Digest) Hex() string { return hex.EncodeToString(d.sum[:]) }

// Sum returns the 32 bytes of the SHA-256.
func (d Digest) Sum() [sha256.Size]byte { return d.sum }

// DigestOf returns the digest with that SHA-256.
func DigestOf(sum [sha256.Size]byte) Digest { return Digest{sum: sum} }

// IsZero reports whether d is the zero value, which is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText writes the form of String.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the form of String; empty text gives the zero value.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	parsed, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Hasher computes a Digest from what is written to it. Make one with NewHasher.
type Hasher struct {
	hash hash.Hash
	size int64
}

// NewHasher returns a Hasher of no bytes.
func NewHasher() *Hasher { return &Hasher{hash: sha256.New()} }

// Write adds data; it never fails.
func (h *Hasher) Write(data []byte) (int, error) {
	h.size += int64(len(data))
	return h.hash.Write(data)
}

// Size returns the number of bytes seen.
func (h *Hasher) Size() int64 { return h.size }

// Digest returns the digest of the bytes seen so far.
func (h *Hasher) Digest() Digest {
	var d Digest
	h.hash.Sum(d.sum[:0])
	return d
}
