package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"misstep/bundle"
	"misstep/bundle/share"
)

// trust is the option by which commands that take bundles decide whose they take.
type trust struct {
	Signers string `help:"Trusted keys in the form of OpenSSH's allowed_signers: a bundle that none of them signed is refused." env:"MISSTEP_SIGNERS" type:"path" placeholder:"FILE"`
}

// check verifies the signature beside a bundle when there are trusted keys, and says in one word or two what it found.
func (t trust) check(path string) (string, error) {
	signature, err := bundle.ReadSignature(path)
	if err != nil {
		return "", err
	}
	if t.Signers == "" {
		if len(signature) == 0 {
			return "not signed", nil
		}
		return "signed, which was not checked: name the trusted keys with --signers", nil
	}
	signers, err := bundle.LoadSigners(t.Signers)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open bundle: %w", err)
	}
	defer f.Close()
	names, err := signers.Verify(f, signature)
	if errors.Is(err, bundle.ErrUnsigned) {
		return "", fmt.Errorf("bundle %s: %w (there is no %s), and --signers demands a signature", path, err, path+bundle.SignatureSuffix)
	}
	if err != nil {
		return "", fmt.Errorf("bundle %s: %w", path, err)
	}
	return "signed by " + names, nil
}

// policy is what a corpus demands of the bundles that it takes.
func (t trust) policy() (share.Policy, error) {
	if t.Signers == "" {
		return share.Policy{}, nil
	}
	signers, err := bundle.LoadSigners(t.Signers)
	return share.Policy{Signers: signers}, err
}

type bundleSign struct {
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
	Key    string `help:"Private key as ssh-keygen writes it, without a passphrase." required:"" env:"MISSTEP_SIGNING_KEY" type:"path" placeholder:"FILE"`
}

// Run writes the signature beside the bundle.
func (c *bundleSign) Run(e *env) error {
	b, err := bundle.Open(c.Bundle) // what is signed is whole
	if err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	if err := signBundle(c.Bundle, c.Key); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.stdout, c.Bundle+bundle.SignatureSuffix)
	return err
}

// signBundle signs the file path; the signature lies beside it.
func signBundle(path, keyFile string) error {
	key, err := bundle.LoadKey(keyFile)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open bundle: %w", err)
	}
	defer f.Close()
	signature, err := bundle.Sign(f, key)
	if err != nil {
		return err
	}
	return writeFile(path+bundle.SignatureSuffix, bytes.NewReader(signature))
}
