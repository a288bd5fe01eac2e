package transport

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// verify returns until when the certificates of a client, its own first, are good, or what is wrong with them and what to do.
func (m *material) verify(given []*x509.Certificate, now time.Time) (until time.Time, err error) {
	between := x509.NewCertPool()
	for _, c := range given[1:] {
		between.AddCert(c)
	}
	chains, err := given[0].Verify(x509.VerifyOptions{
		Roots: m.pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return time.Time{}, explain(given[0], err)
	}
	var why error
	for _, chain := range chains {
		if until, why = m.unrevoked(chain); why == nil {
			return until, nil
		}
	}
	return time.Time{}, why
}

// unrevoked returns when a chain ends, or an error if one of it is revoked.
func (m *material) unrevoked(chain []*x509.Certificate) (until time.Time, err error) {
	until = chain[0].NotAfter
	for i, c := range chain[:len(chain)-1] {
		at, revoked := m.revoked[certificateID{string(chain[i+1].RawSubjectPublicKeyInfo), c.SerialNumber.Text(16)}]
		if revoked {
			return time.Time{}, fmt.Errorf("the certificate of %q (serial number %x) was revoked on %s: issue a new key and "+
				"certificate", c.Subject, c.SerialNumber, at.UTC().Format(time.DateOnly))
		}
		if chain[i+1].NotAfter.Before(until) {
			until = chain[i+1].NotAfter
		}
	}
	return until, nil
}

// explain says what is wrong with a client's certificate and what to do.
func explain(c *x509.Certificate, err error) error {
	who := fmt.Sprintf("the certificate of %q", c.Subject)
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if bytes.Equal(c.RawIssuer, c.RawSubject) && !c.IsCA {
			return fmt.Errorf("%s is self-signed: give one that an authority in the coordinator's --tls-client-ca signed", who)
		}
		return fmt.Errorf("%s is signed by %q, which is none of the authorities in the coordinator's "+
			"--tls-client-ca", who, c.Issuer)
	}
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	if !ok {
		return fmt.Errorf("%s: %w", who, err)
	}
	switch invalid.Reason {
	case x509.Expired:
		if bad := invalid.Cert; bad != nil && !bad.Equal(c) {
			return fmt.Errorf("%s: its authority %q is valid from %s to %s only", who, bad.Subject, day(bad.NotBefore),
				day(bad.NotAfter))
		}
		return fmt.Errorf("%s is valid from %s to %s: issue a new one (`misstep pki issue runner NAME --renew`), or set the clocks",
			who, day(c.NotBefore), day(c.NotAfter))
	case x509.IncompatibleUsage:
		return fmt.Errorf("%s is not for clients (extended key usage): issue one with `misstep pki issue runner NAME`", who)
	}
	return fmt.Errorf("%s: %w", who, err)
}

func day(t time.Time) string { return t.UTC().Format(time.RFC3339) }
