package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"misstep/internal/atomicfile"
)

// newKey makes a P-256 key, which every TLS library has, and writes it. A file that is there stays and is an fs.ErrExist.
func newKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if err := writeNew(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); err != nil {
		return nil, fmt.Errorf("write the key %s: %w", path, err)
	}
	return key, nil
}

// writeNew writes a file that only its owner reads, whole or not at all. One that exists stays and is an fs.ErrExist: a name is
// given to finished bytes by a link, which unlike a renaming replaces nothing.
func writeNew(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // readable for its owner only
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	der, err := readPEM(path, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	any, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	key, ok := any.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: expected an ECDSA key as `misstep pki` makes them, got %T", path, any)
	}
	return key, nil
}

func readCertificate(path string) (*x509.Certificate, error) {
	der, err := readPEM(path, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func readPEM(path, kind string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%s: expected a PEM file with %q", path, kind)
	}
	return block.Bytes, nil
}

func writePEM(path, kind string, der []byte) error {
	return atomicfile.Write(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), fs.FileMode(0o644))
}
