// Package login has the credentials that commands show to coordinators: a token from the environment, or the login of a person,
// which it gets by the device flow (RFC 8628) and keeps in a file.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"misstep/internal/atomicfile"
	"misstep/internal/filelock"
	"misstep/internal/home"
)

// Credential is a person's login at a coordinator.
type Credential struct {
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	// TokenURL is where the provider exchanges refresh tokens, RevocationURL where it ends them; empty when it does not say.
	TokenURL      string `json:"token_url"`
	RevocationURL string `json:"revocation_url,omitempty"`
	IDToken       string `json:"id_token"`
	// RefreshToken gets the next identity token; empty when the provider gives none.
	RefreshToken string `json:"refresh_token,omitempty"`
	// Expires is when the identity token ends to be valid.
	Expires time.Time `json:"expires"`
}

// credentials is the file.
type credentials struct {
	Version int `json:"version"`
	// Coordinators by address.
	Coordinators map[string]Credential `json:"coordinators"`
}

const fileVersion = 1

// File is the path of the file with the logins.
func File() string { return filepath.Join(home.Dir(), "credentials.json") }

// load reads the file; it is empty when there is none. A file that others can read is refused.
func load() (credentials, error) {
	c := credentials{Version: fileVersion, Coordinators: map[string]Credential{}}
	path := File()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read logins: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return c, fmt.Errorf("others can read the logins in %s: log out and in again, or `chmod 600` it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read logins: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read logins in %s: %w; remove it and log in again", path, err)
	}
	if c.Version != fileVersion {
		return c, fmt.Errorf("logins in %s: version %d is not supported; remove it and log in again", path, c.Version)
	}
	if c.Coordinators == nil {
		c.Coordinators = map[string]Credential{}
	}
	return c, nil
}

// change changes the file while no other process does; change returns whether there is something to write.
func change(ctx context.Context, change func(*credentials) (bool, error)) error {
	path := File()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keep logins: %w", err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("keep logins: %w", err)
	}
	unlock, err := filelock.Wait(ctx, lock, nil)
	if err != nil {
		return fmt.Errorf("keep logins: %w", err)
	}
	defer unlock()
	c, err := load()
	if err != nil {
		return err
	}
	changed, err := change(&c)
	if err != nil || !changed {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep logins: %w", err)
	}
	return nil
}

// of returns the login at the first of the addresses at which there is one.
func (c credentials) of(addrs []string) (Credential, bool) {
	for _, a := range addrs {
		if found, ok := c.Coordinators[a]; ok {
			return found, true
		}
	}
	return Credential{}, false
}
