package pki

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Entry is a certificate that an authority has signed.
type Entry struct {
	// Serial number in hexadecimal.
	Serial string
	Kind   Kind
	// Names as in Request.
	Names []string
	// Expires is when it ends, and Revoked when it was revoked; zero if it was not.
	Expires, Revoked time.Time
}

// State is "valid", "expired" or "revoked".
func (e Entry) State(now time.Time) string {
	switch {
	case !e.Revoked.IsZero():
		return "revoked"
	case now.After(e.Expires):
		return "expired"
	}
	return "valid"
}

// List returns the certificates, those that end last first.
func (a *Authority) List() ([]Entry, error) {
	list, err := a.readCRL()
	if err != nil {
		return nil, err
	}
	revoked := map[string]time.Time{}
	for _, r := range list.RevokedCertificateEntries {
		revoked[r.SerialNumber.Text(16)] = r.RevocationTime
	}
	files, err := os.ReadDir(a.path(issuedDir))
	if err != nil {
		return nil, fmt.Errorf("list certificates: %w", err)
	}
	var all []Entry
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".crt" {
			continue // of a write that was cut off
		}
		c, err := readCertificate(a.path(filepath.Join(issuedDir, f.Name())))
		if err != nil {
			return nil, err
		}
		all = append(all, entry(c, revoked[serial(c)]))
	}
	slices.SortStableFunc(all, func(x, y Entry) int { return y.Expires.Compare(x.Expires) })
	return all, nil
}

func entry(c *x509.Certificate, revoked time.Time) Entry {
	e := Entry{Serial: serial(c), Kind: Coordinator, Names: slices.Clone(c.DNSNames), Expires: c.NotAfter, Revoked: revoked}
	for _, ip := range c.IPAddresses {
		e.Names = append(e.Names, ip.String())
	}
	for _, u := range c.URIs {
		e.Kind = Runner
		e.Names = append(e.Names, strings.TrimPrefix(u.Path, "/"))
	}
	return e
}

func (a *Authority) readCRL() (*x509.RevocationList, error) {
	der, err := readPEM(a.path(CRLFile), "X509 CRL")
	if err != nil {
		return nil, err
	}
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.path(CRLFile), err)
	}
	return list, nil
}

// Revoke revokes the certificates that have a serial number or a name, unless they have ended or are revoked, and returns them.
func (a *Authority) Revoke(ctx context.Context, which string) (done []Entry, err error) {
	err = a.locked(ctx, func() error {
		all, err := a.List()
		if err != nil {
			return err
		}
		list, err := a.readCRL()
		if err != nil {
			return err
		}
		ca, key, err := a.load()
		if err != nil {
			return err
		}
		now := a.Clock()
		entries := list.RevokedCertificateEntries
		for _, e := range all {
			if (e.Serial != which && !slices.Contains(e.Names, which)) || e.State(now) != "valid" {
				continue
			}
			c, err := readCertificate(a.path(filepath.Join(issuedDir, e.Serial+".crt")))
			if err != nil {
				return err
			}
			entries = append(entries, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: now})
			e.Revoked = now
			done = append(done, e)
		}
		if len(done) == 0 {
			return fmt.Errorf("no valid certificate has the name or serial number %q; see `misstep pki list`", which)
		}
		return a.writeCRL(ca, key, entries, list.Number.Int64()+1)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}
