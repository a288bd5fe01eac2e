package bundle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Signatures are detached OpenSSH signatures (PROTOCOL.sshsig) over the bundle's bytes. To verify one without Misstep:
//
//	ssh-keygen -Y verify -f ALLOWED_SIGNERS -I NAME -n misstep-bundle -s F.zip.sig <F.zip
const (
	// SignatureNamespace keeps a signature of something else from being taken for one of a bundle.
	SignatureNamespace = "misstep-bundle"
	// SignatureSuffix is appended to a bundle's file name to get that of its signature.
	SignatureSuffix = ".sig"
	// MaxSignature bounds the text of a signature in bytes; one by a 16,384-bit RSA key has 6 KiB.
	MaxSignature = 16 << 10

	maxSigners = 1 << 20 // bytes of a file of trusted keys
)

var (
	// ErrUnsigned means that there is no signature where one is required.
	ErrUnsigned = errors.New("not signed")
	// ErrUntrusted means that the signature is valid but its key is not trusted.
	ErrUntrusted = errors.New("signed by a key that is not trusted")
)

// LoadKey reads a private key as ssh-keygen writes it, without a passphrase.
func LoadKey(file string) (ssh.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, fmt.Errorf("signing key %s has a passphrase, which cannot be entered here: "+
			"use a key without one (ssh-keygen -t ed25519 -N '' -f FILE)", file)
	case err != nil:
		return nil, fmt.Errorf("signing key %s: expected a private key as `ssh-keygen -t ed25519` writes it: %w", file, err)
	}
	return signer, nil
}

// Sign signs the bytes of r. Keys of type ed25519 and RSA give the same signature each time.
func Sign(r io.Reader, key ssh.Signer) ([]byte, error) {
	signature, err := sshsig.Sign(r, key, sshsig.HashSHA512, SignatureNamespace)
	if err != nil {
		return nil, fmt.Errorf("sign bundle: %w", err)
	}
	return sshsig.Armor(signature), nil
}

// Signers are the trusted keys, with the names of their owners.
type Signers struct {
	file    string
	entries []signerEntry
}

type signerEntry struct {
	names string
	key   []byte // wire form
}

// LoadSigners reads trusted keys in the form of OpenSSH's allowed_signers (ssh-keygen(1)): names, options, key. Of the options only
// namespaces is known; a line with another one is refused, since ignoring it would trust more than the line does.
func LoadSigners(file string) (*Signers, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read trusted signers: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSigners+1))
	if err != nil {
		return nil, fmt.Errorf("read trusted signers: %w", err)
	}
	s := &Signers{file: file}
	if s.entries, err = parseSigners(text); err != nil {
		return nil, fmt.Errorf("trusted signers %s: %w", file, err)
	}
	return s, nil
}

func parseSigners(text []byte) ([]signerEntry, error) {
	if len(text) > maxSigners {
		return nil, fmt.Errorf("more than %d bytes", maxSigners)
	}
	var entries []signerEntry
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		names, rest, _ := strings.Cut(line, " ")
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
		if err != nil {
			return nil, fmt.Errorf("line %d: expected NAMES [namespaces=\"…\"] KEY-TYPE KEY: %w", number, err)
		}
		ours := true
		for _, option := range options {
			value, ok := strings.CutPrefix(option, "namespaces=")
			if !ok {
				return nil, fmt.Errorf("line %d: unknown option %.40q, only namespaces is supported", number, option)
			}
			ours = slices.ContainsFunc(strings.Split(strings.Trim(value, `"`), ","), func(pattern string) bool {
				matched, err := path.Match(pattern, SignatureNamespace)
				return err == nil && matched
			})
		}
		if ours {
			entries = append(entries, signerEntry{names: names, key: key.Marshal()})
		}
	}
	return entries, lines.Err()
}

// Verify checks that signature is a trusted key's signature of the bytes of r, and returns that key's names. The error wraps
// ErrUnsigned when signature is empty and ErrUntrusted when the key is not trusted.
func (s *Signers) Verify(r io.Reader, signature []byte) (string, error) {
	if len(signature) == 0 {
		return "", ErrUnsigned
	}
	if len(signature) > MaxSignature {
		return "", fmt.Errorf("signature: more than %d bytes", MaxSignature)
	}
	parsed, err := sshsig.Unarmor(signature)
	if err != nil {
		return "", fmt.Errorf("signature: %w", err)
	}
	if err := sshsig.Verify(r, parsed, parsed.PublicKey, parsed.HashAlgorithm, SignatureNamespace); err != nil {
		return "", fmt.Errorf("the signature does not fit these bytes: %w", err)
	}
	for _, e := range s.entries {
		if bytes.Equal(e.key, parsed.PublicKey.Marshal()) {
			return e.names, nil
		}
	}
	return "", fmt.Errorf("%w: %s is not in %s", ErrUntrusted, ssh.FingerprintSHA256(parsed.PublicKey), s.file)
}

// ReadSignature returns the text of the signature beside a bundle, empty when there is none.
func ReadSignature(bundle string) ([]byte, error) {
	f, err := os.Open(bundle + SignatureSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read signature: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSignature+1))
	if err != nil {
		return nil, fmt.Errorf("read signature: %w", err)
	}
	return text, nil
}
