// Package pki is a small certificate authority in a folder, for fleets that have none: certificates for coordinators and runners,
// and a list of the revoked ones. Files are written whole, and a key is never overwritten.
package pki

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"misstep/internal/filelock"
)

// Files in the folder of an authority.
const (
	// CAFile has its certificate, which coordinators and runners trust.
	CAFile = "ca.crt"
	// CRLFile lists what it has revoked.
	CRLFile = "crl.pem"

	keyFile   = "ca.key"
	lockFile  = "lock"
	issuedDir = "issued" // the certificates, one file each by serial number
)

// Names of the files of one certificate, those of Kubernetes' secrets.
const (
	CertificateFile = "tls.crt"
	KeyFile         = "tls.key"
)

// backdated is how long before it is made a certificate is valid from: the clocks of a fleet differ.
const backdated = 5 * time.Minute

// Authority signs certificates. Its methods exclude each other between processes.
type Authority struct {
	dir string
	// Clock returns the time; tests move it.
	Clock func() time.Time
}

// Init makes an authority in a folder, which may exist but must have none. It is valid for lifetime.
func Init(ctx context.Context, dir, name string, lifetime time.Duration, clock func() time.Time) (*Authority, error) {
	a := &Authority{dir: dir, Clock: clock}
	for _, d := range []string{dir, a.path(issuedDir)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("make an authority: %w", err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	return a, a.locked(ctx, func() error {
		if _, err := os.Stat(a.path(CAFile)); err == nil {
			return fmt.Errorf("%s has an authority already: use it, or choose another folder", dir)
		}
		key, err := newKey(a.path(keyFile))
		if errors.Is(err, fs.ErrExist) { // a run that was killed left it
			key, err = readKey(a.path(keyFile))
		}
		if err != nil {
			return err
		}
		now := a.Clock()
		ca := &x509.Certificate{
			Subject:   pkix.Name{CommonName: name},
			NotBefore: now.Add(-backdated), NotAfter: now.Add(lifetime),
			IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		}
		der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
		if err != nil {
			return fmt.Errorf("make an authority: %w", err)
		}
		if ca, err = x509.ParseCertificate(der); err != nil {
			return fmt.Errorf("make an authority: %w", err)
		}
		if err := a.writeCRL(ca, key, nil, 1); err != nil {
			return err
		}
		return writePEM(a.path(CAFile), "CERTIFICATE", der)
	})
}

// Open opens the authority in a folder.
func Open(dir string) (*Authority, error) {
	a := &Authority{dir: dir, Clock: time.Now}
	if _, err := os.Stat(a.path(CAFile)); err != nil {
		return nil, fmt.Errorf("no authority in %s (%w): make one with `misstep pki init`, or give its --dir", dir, err)
	}
	return a, nil
}

func (a *Authority) path(name string) string { return filepath.Join(a.dir, name) }

// locked runs f while no other process changes the authority.
func (a *Authority) locked(ctx context.Context, f func() error) error {
	file, err := os.OpenFile(a.path(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the authority: %w", err)
	}
	unlock, err := filelock.Wait(ctx, file, nil)
	if err != nil {
		return err
	}
	defer unlock()
	return f()
}

// load returns the authority's certificate and key.
func (a *Authority) load() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	ca, err := readCertificate(a.path(CAFile))
	if err != nil {
		return nil, nil, err
	}
	key, err := readKey(a.path(keyFile))
	if err != nil {
		return nil, nil, err
	}
	if !key.PublicKey.Equal(ca.PublicKey) {
		return nil, nil, fmt.Errorf("%s is not the key of %s: restore the folder from its backup", a.path(keyFile), a.path(CAFile))
	}
	return ca, key, nil
}

// writeCRL writes the list of what is revoked. It is in force as long as the authority: a coordinator never waits for a newer one.
func (a *Authority) writeCRL(ca *x509.Certificate, key *ecdsa.PrivateKey, revoked []x509.RevocationListEntry, number int64) error {
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		RevokedCertificateEntries: revoked, Number: big.NewInt(number),
		ThisUpdate: a.Clock().Add(-backdated), NextUpdate: ca.NotAfter,
	}, ca, key)
	if err != nil {
		return fmt.Errorf("sign the list of revoked certificates: %w", err)
	}
	return writePEM(a.path(CRLFile), "X509 CRL", der)
}
