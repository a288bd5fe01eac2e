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
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Kind is what a certificate is for.
type Kind string

// The kinds of certificates.
const (
	Coordinator Kind = "coordinator"
	Runner      Kind = "runner"
)

// Request is what is asked of an authority.
type Request struct {
	Kind Kind
	// Names of a coordinator: the hosts, names or IP addresses, by which clients call it. Of a runner: its one name.
	Names []string
	// Lifetime of the certificate; it never outlives the authority's.
	Lifetime time.Duration
	// Out is the folder for certificate, key and the authority's certificate; empty is one in the authority's folder.
	Out string
	// Renew signs the key that Out has, instead of making one.
	Renew bool
}

// Issued is a certificate with its files.
type Issued struct {
	*x509.Certificate
	// Dir has the files CertificateFile, KeyFile and CAFile.
	Dir string
}

var nameRE = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)

// RunnerURI is the URI in the certificate of a runner.
func RunnerURI(name string) *url.URL {
	return &url.URL{Scheme: "misstep", Host: string(Runner), Path: "/" + name}
}

// template returns what the certificate says.
func (r Request) template() (*x509.Certificate, error) {
	if len(r.Names) == 0 {
		return nil, fmt.Errorf("a %s needs a name", r.Kind)
	}
	c := &x509.Certificate{Subject: pkix.Name{CommonName: r.Names[0]}, KeyUsage: x509.KeyUsageDigitalSignature}
	for _, name := range r.Names {
		ip := net.ParseIP(name)
		switch {
		case r.Kind == Coordinator && ip != nil:
			c.IPAddresses = append(c.IPAddresses, ip)
		case !nameRE.MatchString(strings.TrimPrefix(name, "*.")) || r.Kind == Runner && strings.HasPrefix(name, "*."):
			return nil, fmt.Errorf("name %q of a %s: expected letters, digits, dots and hyphens, at most 64 characters%s", name,
				r.Kind, map[Kind]string{Coordinator: ", or an IP address; without the port"}[r.Kind])
		case r.Kind == Coordinator:
			c.DNSNames = append(c.DNSNames, name)
		default:
			c.URIs = append(c.URIs, RunnerURI(name))
		}
	}
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if r.Kind == Runner {
		c.ExtKeyUsage[0] = x509.ExtKeyUsageClientAuth
		if len(r.Names) > 1 {
			return nil, errors.New("a runner has one name: issue each runner a certificate of its own")
		}
	}
	return c, nil
}

// Issue makes a key, unless it renews, and a certificate for it.
func (a *Authority) Issue(ctx context.Context, r Request) (*Issued, error) {
	template, err := r.template()
	if err != nil {
		return nil, err
	}
	out := r.Out
	if out == "" {
		out = a.path(string(r.Kind) + "-" + strings.NewReplacer("*", "any", ":", "-").Replace(r.Names[0]))
	}
	if err := os.MkdirAll(out, 0o700); err != nil {
		return nil, fmt.Errorf("issue a certificate: %w", err)
	}
	var issued *Issued
	err = a.locked(ctx, func() error {
		ca, signer, err := a.load()
		if err != nil {
			return err
		}
		now := a.Clock()
		template.NotBefore, template.NotAfter = now.Add(-backdated), now.Add(r.Lifetime)
		if template.NotAfter.After(ca.NotAfter) {
			return fmt.Errorf("the authority ends at %s, before the certificate: choose a shorter --lifetime, or make a new "+
				"authority, trust both in one file for a while, and issue new certificates", ca.NotAfter.Format(time.DateOnly))
		}
		key, err := r.key(filepath.Join(out, KeyFile))
		if err == nil && r.Renew {
			err = a.checkRenewable(key)
		}
		if err != nil {
			return err
		}
		der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), signer)
		if err != nil {
			return fmt.Errorf("sign the certificate: %w", err)
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("sign the certificate: %w", err)
		}
		issued = &Issued{Certificate: c, Dir: out}
		// What was signed is noted first: a certificate that the folder does not list could not be revoked.
		return errors.Join(
			writePEM(a.path(filepath.Join(issuedDir, serial(c)+".crt")), "CERTIFICATE", der),
			writePEM(filepath.Join(out, CAFile), "CERTIFICATE", ca.Raw),
			writePEM(filepath.Join(out, CertificateFile), "CERTIFICATE", der))
	})
	return issued, err
}

// key makes the key of a certificate, or reads the one that is renewed.
func (r Request) key(path string) (*ecdsa.PrivateKey, error) {
	if r.Renew {
		return readKey(path)
	}
	key, err := newKey(path)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s exists, and no key is overwritten: add --renew for a new certificate of that key, or choose another "+
			"--out", path)
	}
	return key, err
}

// checkRenewable returns an error if a certificate of the key was revoked: somebody else may have that key.
func (a *Authority) checkRenewable(key *ecdsa.PrivateKey) error {
	all, err := a.List()
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Revoked.IsZero() {
			continue
		}
		c, err := readCertificate(a.path(filepath.Join(issuedDir, e.Serial+".crt")))
		if err != nil {
			return err
		}
		if key.PublicKey.Equal(c.PublicKey) {
			return fmt.Errorf("a certificate of this key was revoked on %s: leave out --renew and choose another --out",
				e.Revoked.Format(time.DateOnly))
		}
	}
	return nil
}

// serial is the serial number of a certificate in hexadecimal.
func serial(c *x509.Certificate) string { return c.SerialNumber.Text(16) }
