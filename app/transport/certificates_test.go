package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"misstep/app/pki"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// signed returns files with a certificate that the authority in a folder signed although `misstep pki` would make no such one; no
// folder makes it sign itself.
func signed(t *testing.T, dir string, c *x509.Certificate) Files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	signer, parent := key, c
	if dir != "" {
		parent, err = x509.ParseCertificate(block(t, filepath.Join(dir, "ca.crt")))
		require.NoError(t, err)
		k, err := x509.ParsePKCS8PrivateKey(block(t, filepath.Join(dir, "ca.key")))
		require.NoError(t, err)
		signer = k.(*ecdsa.PrivateKey)
	}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	files := filesIn(t.TempDir())
	write(t, files.Certificate, "CERTIFICATE", der)
	write(t, files.Key, "PRIVATE KEY", encoded)
	return files
}

func block(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	b, _ := pem.Decode(text)
	return b.Bytes
}

func write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func uris(t *testing.T, texts ...string) (all []*url.URL) {
	for _, text := range texts {
		u, err := url.Parse(text)
		require.NoError(t, err)
		all = append(all, u)
	}
	return all
}

var forClients = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}

// Each bad certificate of a client is refused, with what is wrong and what helps.
func TestCertificatesOfClients(t *testing.T) {
	own, dir := authority(t, time.Now())
	foreign, _ := authority(t, time.Now())
	own.Clock = func() time.Time { return time.Now().Add(-100 * time.Hour) }
	expired := issue(t, own, pki.Runner, time.Hour, "a1")
	own.Clock = func() time.Time { return time.Now().Add(100 * time.Hour) }
	early := issue(t, own, pki.Runner, time.Hour, "a1")
	own.Clock = time.Now
	revoked := issue(t, own, pki.Runner, time.Hour, "b2")
	_, err := own.Revoke(t.Context(), "b2")
	require.NoError(t, err)
	files := issue(t, own, pki.Coordinator, time.Hour, "127.0.0.1")
	files.CRL = filepath.Join(dir, pki.CRLFile)
	s := serve(t, files)

	name := pkix.Name{CommonName: "x"}
	for _, c := range []struct {
		what  string
		files Files
		code  codes.Code
		text  string
	}{
		{"good", issue(t, own, pki.Runner, time.Hour, "a1"), codes.OK, ""},
		{"good, of another PKI", signed(t, dir, &x509.Certificate{
			Subject: name, ExtKeyUsage: forClients, URIs: uris(t, "spiffe://example.org/misstep/runner/a1"),
		}), codes.OK, ""},
		{"none", Files{}, codes.Unauthenticated, "runners give --tls-cert and --tls-key"},
		{"expired", expired, codes.Unauthenticated, "misstep pki issue runner NAME --renew"},
		{"not yet valid", early, codes.Unauthenticated, "or set the clocks"},
		{"revoked", revoked, codes.Unauthenticated, "was revoked on " + time.Now().UTC().Format(time.DateOnly)},
		{"foreign", issue(t, foreign, pki.Runner, time.Hour, "a1"), codes.Unauthenticated, "none of the authorities in the coordinator's"},
		{"self-signed", signed(t, "", &x509.Certificate{
			Subject: name, ExtKeyUsage: forClients, URIs: uris(t, "misstep://runner/a1"),
		}), codes.Unauthenticated, `the certificate of "CN=x" is self-signed`},
		{"of a coordinator", issue(t, own, pki.Coordinator, time.Hour, "a1"), codes.Unauthenticated, "is not for clients"},
		{"signed by a runner", func() Files {
			f := issue(t, own, pki.Runner, time.Hour, "a1")
			d := t.TempDir()
			replace(t, f.Certificate, filepath.Join(d, "ca.crt"))
			replace(t, f.Key, filepath.Join(d, "ca.key"))
			sub := signed(t, d, &x509.Certificate{Subject: name, ExtKeyUsage: forClients, URIs: uris(t, "misstep://runner/root")})
			chain, err := os.ReadFile(sub.Certificate)
			require.NoError(t, err)
			parent, err := os.ReadFile(f.Certificate)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(sub.Certificate, append(chain, parent...), 0o600))
			return sub
		}(), codes.Unauthenticated, `is signed by "CN=a1", which is none of the authorities`},
		{"without a name", signed(t, dir, &x509.Certificate{
			Subject: name, ExtKeyUsage: forClients, URIs: uris(t, "spiffe://example.org/other/a1", "misstep://runner/a1/b"),
		}), codes.Unauthenticated, "names no runner: expected a URI of the form misstep://runner/* or spiffe://example.org/"},
		{"with two names", signed(t, dir, &x509.Certificate{
			Subject: name, ExtKeyUsage: forClients, URIs: uris(t, "misstep://runner/a1", "misstep://runner/b2"),
		}), codes.Unauthenticated, "several runners"},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.files.CA = files.CA
			err := call(t, dial(t, c.files, s.address))
			assert.Equal(t, c.code, status.Code(err), err)
			assert.Contains(t, status.Convert(err).Message(), c.text)
		})
	}
}

// Each bad certificate of a coordinator is refused, with what is wrong and what helps.
func TestCertificatesOfCoordinators(t *testing.T) {
	own, dir := authority(t, time.Now())
	foreign, _ := authority(t, time.Now())
	own.Clock = func() time.Time { return time.Now().Add(-100 * time.Hour) }
	expired := issue(t, own, pki.Coordinator, time.Hour, "127.0.0.1")
	own.Clock = time.Now
	client := Files{CA: filepath.Join(dir, pki.CAFile)}
	for _, c := range []struct {
		what  string
		files Files
		text  string
	}{
		{"good", issue(t, own, pki.Coordinator, time.Hour, "localhost", "127.0.0.1"), ""},
		{"expired", expired, "misstep pki issue coordinator NAME… --renew"},
		{"foreign", issue(t, foreign, pki.Coordinator, time.Hour, "127.0.0.1"), "give the authority that signed its certificate by --tls-ca"},
		{"of another name", issue(t, own, pki.Coordinator, time.Hour, "localhost", "10.0.0.1"), "call it by a name of its certificate"},
		{"of a runner", signed(t, dir, &x509.Certificate{
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: forClients,
		}), "its certificate is not for servers"},
		{"self-signed", signed(t, "", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}), "by --tls-ca"},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.files.CA = ""
			s := serve(t, c.files)
			err := call(t, dial(t, client, s.address))
			if c.text == "" {
				assert.Equal(t, codes.Unauthenticated, status.Code(err), "the connection is good, the client has no certificate")
				return
			}
			assert.Equal(t, codes.Unavailable, status.Code(err), err)
			assert.Contains(t, status.Convert(err).Message(), "no secure connection to "+s.address+": ")
			assert.Contains(t, status.Convert(err).Message(), c.text)
		})
	}
}

func TestPlainTextMeetsTLS(t *testing.T) {
	a, _ := authority(t, time.Now())
	files := issue(t, a, pki.Coordinator, time.Hour, "127.0.0.1")
	s := serve(t, files)
	err := call(t, dial(t, Files{}, s.address))
	assert.Equal(t, codes.Unavailable, status.Code(err))
	assert.Contains(t, status.Convert(err).Message(), "if it has TLS, give its authority by --tls-ca")
	assert.Contains(t, s.log.String(), "the client speaks plain text: give it --tls-ca")

	plain := start(t, station.Place{})
	err = call(t, dial(t, Files{CA: files.CA}, plain))
	assert.Equal(t, codes.Unavailable, status.Code(err))
	assert.Contains(t, status.Convert(err).Message(), "no secure connection to "+plain+": it speaks plain text: leave out --tls-ca")
}

func TestTLS12IsRefused(t *testing.T) {
	a, _ := authority(t, time.Now())
	files := issue(t, a, pki.Coordinator, time.Hour, "127.0.0.1")
	s := serve(t, files)
	pool := x509.NewCertPool()
	pool.AddCert(first(t, files.CA))
	handshake := func(most uint16) error {
		conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: pool, MaxVersion: most}}).DialContext(t.Context(), "tcp", s.address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	require.NoError(t, handshake(tls.VersionTLS13))
	require.ErrorContains(t, handshake(tls.VersionTLS12), "protocol version not supported")

	pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	require.NoError(t, err)
	old := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12,
	})))
	misstepv1.RegisterLeaseServiceServer(old, misstepv1.UnimplementedLeaseServiceServer{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = old.Serve(listener) }()
	t.Cleanup(old.Stop)
	err = call(t, dial(t, Files{CA: files.CA}, listener.Addr().String()))
	assert.Contains(t, status.Convert(err).Message(), "both ends need TLS 1.3")
}

func first(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	all, err := certificates(path)
	require.NoError(t, err)
	return all[0]
}
