package bundles

import (
	"errors"
	"fmt"
	"io"
	"os"

	"misstep/bundle"
	"misstep/bundle/share"
	"misstep/internal/atomicfile"
)

// Sign signs the bundle at path with an SSH private key without a passphrase and writes the signature beside it.
func Sign(path, keyFile string) error {
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
	return atomicfile.WriteWith(path+bundle.SignatureSuffix, func(w io.Writer) error {
		_, err := w.Write(signature)
		return err
	})
}

// Check verifies the signature beside a bundle and returns a short description of the result. trusted is a file in the format of
// OpenSSH's allowed_signers; if it is empty, nothing is verified.
func Check(path, trusted string) (string, error) {
	signature, err := bundle.ReadSignature(path)
	if err != nil {
		return "", err
	}
	if trusted == "" {
		if len(signature) == 0 {
			return "not signed", nil
		}
		return "signed, but not checked: name the trusted keys with --signers", nil
	}
	signers, err := bundle.LoadSigners(trusted)
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
		return "", fmt.Errorf("bundle %s: %w (there is no %s), and --signers demands a signature", path, err,
			path+bundle.SignatureSuffix)
	}
	if err != nil {
		return "", fmt.Errorf("bundle %s: %w", path, err)
	}
	return "signed by " + names, nil
}

// Policy returns the policy by which a corpus accepts bundles; trusted is as for Check.
func Policy(trusted string) (share.Policy, error) {
	if trusted == "" {
		return share.Policy{}, nil
	}
	signers, err := bundle.LoadSigners(trusted)
	return share.Policy{Signers: signers}, err
}
