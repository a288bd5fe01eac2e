package transport

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc/credentials"
)

// material is what files hold. It does not change.
type material struct {
	// generation counts how often the files changed.
	generation uint64
	// authorities that sign the other end's certificates, and the same as a pool; nil without a file.
	authorities []*x509.Certificate
	pool        *x509.CertPool
	// revoked certificates.
	revoked  map[certificateID]time.Time
	expiries []expiry
	// server and client are this end's credentials; server is nil without a certificate.
	server, client credentials.TransportCredentials
	// own are the certificates of this end.
	own []tls.Certificate
}

// certificateID identifies a certificate: its issuer's key and its serial number.
type certificateID struct{ issuer, serial string }

// expiry is when something ends.
type expiry struct {
	what, path string
	from, to   time.Time
}

// warnFrom is when to begin to warn: two weeks before the end, and for what lives for less than ten weeks, a fifth of its life.
func (e expiry) warnFrom() time.Time { return e.to.Add(-min(14*24*time.Hour, e.to.Sub(e.from)/5)) }

// first returns the earliest end.
func (m *material) first() time.Time {
	if len(m.expiries) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(m.expiries, func(a, b expiry) int { return a.to.Compare(b.to) }).to
}

func load(f Files) (*material, error) {
	m := &material{}
	var own []tls.Certificate
	if f.CA != "" {
		all, err := certificates(f.CA)
		if err != nil {
			return nil, err
		}
		m.authorities, m.pool = all, x509.NewCertPool()
		for _, c := range all {
			if !c.IsCA {
				return nil, fmt.Errorf("%s: the certificate of %q is none of an authority: give that of who signed it",
					f.CA, c.Subject)
			}
			m.pool.AddCert(c)
			m.expiries = append(m.expiries, expiry{"authority", f.CA, c.NotBefore, c.NotAfter})
		}
	}
	switch {
	case (f.Certificate == "") != (f.Key == ""):
		return nil, errors.New("--tls-cert and --tls-key belong together: give both")
	case f.Certificate != "":
		pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s and key %s: %w", f.Certificate, f.Key, err)
		}
		own = append(own, pair)
		m.own = own
		m.expiries = append(m.expiries, expiry{"certificate", f.Certificate, pair.Leaf.NotBefore, pair.Leaf.NotAfter})
		m.server = credentials.NewTLS(&tls.Config{
			Certificates: own, MinVersion: tls.VersionTLS13,
			// A certificate that is given is proved to be the caller's own here, and judged by verify.
			ClientAuth: clientAuth(m.pool), SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true,
		})
	}
	// Records that begin small, as web pages want them, would make several of each message, each with a system call of its own.
	m.client = credentials.NewTLS(&tls.Config{
		RootCAs: m.pool, MinVersion: tls.VersionTLS13, DynamicRecordSizingDisabled: true,
		// Whatever authorities the coordinator asks for: it says better what is wrong with a certificate than without one.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(own) == 0 {
				return &tls.Certificate{}, nil
			}
			return &own[0], nil
		},
	})
	if f.CRL != "" {
		if err := m.readRevoked(f.CRL); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func clientAuth(pool *x509.CertPool) tls.ClientAuthType {
	if pool == nil {
		return tls.NoClientCert
	}
	return tls.RequestClientCert
}

// blocks returns the PEM blocks of a kind in a file, at least one.
func blocks(path, kind string) (all [][]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == kind {
			all = append(all, block.Bytes)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: expected PEM with %q", path, kind)
	}
	return all, nil
}

func certificates(path string) (all []*x509.Certificate, err error) {
	found, err := blocks(path, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	for _, der := range found {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// readRevoked reads lists of revoked certificates. One after whose end a newer one was due stays in force.
func (m *material) readRevoked(path string) error {
	found, err := blocks(path, "X509 CRL")
	if err != nil {
		return err
	}
	m.revoked = map[certificateID]time.Time{}
	for _, der := range found {
		list, err := x509.ParseRevocationList(der)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, e := range list.Extensions {
			if e.Critical { // RFC 5280, 5.2: a list that does not cover everything says so
				return fmt.Errorf("%s: this list covers only some certificates (extension %v): give a complete one", path, e.Id)
			}
		}
		i := slices.IndexFunc(m.authorities, func(c *x509.Certificate) bool { return list.CheckSignatureFrom(c) == nil })
		if i < 0 {
			return fmt.Errorf("%s: the list of %q is signed by none of the authorities in --tls-client-ca", path, list.Issuer)
		}
		for _, e := range list.RevokedCertificateEntries {
			m.revoked[certificateID{string(m.authorities[i].RawSubjectPublicKeyInfo), e.SerialNumber.Text(16)}] = e.RevocationTime
		}
		if !list.NextUpdate.IsZero() {
			m.expiries = append(m.expiries, expiry{"list of revoked certificates", path, list.ThisUpdate, list.NextUpdate})
		}
	}
	return nil
}
