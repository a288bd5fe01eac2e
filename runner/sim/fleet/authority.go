package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// Authority signs the certificates of simulated runners, so that each is a caller of its own. It is the coordinator's certificate,
// too.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

// NewAuthority makes an authority and returns its certificate and its key in PEM.
func NewAuthority() (certificate, key []byte, err error) {
	own, certificate, err := selfSigned()
	if err != nil {
		return nil, nil, fmt.Errorf("make an authority: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("make an authority: %w", err)
	}
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseAuthority reads what NewAuthority returned.
func ParseAuthority(certificate, key []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read an authority: %w", err)
	}
	a := &Authority{certificate: pair.Leaf, pool: x509.NewCertPool()}
	a.pool.AddCert(a.certificate)
	var ok bool
	if a.key, ok = pair.PrivateKey.(*ecdsa.PrivateKey); !ok {
		return nil, errors.New("read an authority: expected an ECDSA key")
	}
	return a, nil
}

// Runner returns the settings of the runner of a name, with a new certificate in the form of `misstep pki`.
func (a *Authority) Runner(name string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a runner's certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, fmt.Errorf("make a runner's certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		KeyUsage: x509.KeyUsageDigitalSignature, URIs: []*url.URL{{Scheme: "misstep", Host: "runner", Path: "/" + name}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("make a runner's certificate: %w", err)
	}
	return &tls.Config{
		RootCAs: a.pool, MinVersion: tls.VersionTLS13,
		Certificates:                []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		DynamicRecordSizingDisabled: true, // as real runners do
	}, nil
}
