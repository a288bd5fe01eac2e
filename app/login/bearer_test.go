package login

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	misstepv1 "misstep/proto/misstep/v1"
)

// listener is a coordinator that remembers what each call had in its header, and how often it was called.
type listener struct {
	misstepv1.UnimplementedAccessServiceServer
	headers []string
	calls   int
}

func (l *listener) note(ctx context.Context) {
	md, _ := metadata.FromIncomingContext(ctx)
	l.headers = md.Get("authorization")
	l.calls++
}

func (l *listener) WhoAmI(ctx context.Context, _ *misstepv1.WhoAmIRequest) (*misstepv1.WhoAmIResponse, error) {
	l.note(ctx)
	return &misstepv1.WhoAmIResponse{}, nil
}

func (l *listener) GetLogin(ctx context.Context, _ *misstepv1.GetLoginRequest) (*misstepv1.GetLoginResponse, error) {
	l.note(ctx)
	return &misstepv1.GetLoginResponse{}, nil
}

// listen connects to a coordinator under an address of its own, with TLS or in plain text.
func listen(t *testing.T, address string, encrypted bool) (*listener, misstepv1.AccessServiceClient) {
	t.Setenv("MISSTEP_HOME", t.TempDir())
	t.Setenv(TokenVariable, "")
	t.Setenv(TokenFileVariable, "")
	l := &listener{}
	var serve []grpc.ServerOption
	dial := insecure.NewCredentials()
	if encrypted {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), DNSNames: []string{"c.example.org"}, NotAfter: time.Now().Add(time.Hour),
		}
		raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		require.NoError(t, err)
		certificate, err := x509.ParseCertificate(raw)
		require.NoError(t, err)
		roots := x509.NewCertPool()
		roots.AddCert(certificate)
		serve = append(serve, grpc.Creds(grpccredentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS13,
		})))
		dial = grpccredentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "c.example.org", MinVersion: tls.VersionTLS13})
	}
	server := grpc.NewServer(serve...)
	misstepv1.RegisterAccessServiceServer(server, l)
	pipe := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(pipe) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:"+address, grpc.WithTransportCredentials(dial), DialOption(address),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return l, misstepv1.NewAccessServiceClient(conn)
}

func TestWhereATokenIsSent(t *testing.T) {
	for name, test := range map[string]struct {
		address   string
		encrypted bool
		sent      bool
	}{
		"encrypted":           {"c.example.org:7867", true, true},
		"plain to an address": {"192.0.2.7:7867", false, false},
		"plain to a name":     {"c.example.org:7867", false, false},
		"plain to localhost.": {"localhost.example.org:7867", false, false},
		"plain to this host":  {"127.0.0.1:7867", false, true},
		"plain to localhost":  {"localhost:7867", false, true},
		"plain to ::1":        {"[::1]:7867", false, true},
		"plain to all hosts":  {"0.0.0.0:7867", false, false},
		"without a port":      {"127.0.0.1", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			l, api := listen(t, test.address, test.encrypted)
			_, err := api.WhoAmI(t.Context(), &misstepv1.WhoAmIRequest{})
			require.NoError(t, err, "without a token there is nothing to keep secret")
			assert.Empty(t, l.headers)
			t.Setenv(TokenVariable, "misstep_0123456789_secret")
			_, err = api.GetLogin(t.Context(), &misstepv1.GetLoginRequest{})
			require.NoError(t, err)
			assert.Empty(t, l.headers, "whoever asks where to log in sends nothing")
			_, err = api.WhoAmI(t.Context(), &misstepv1.WhoAmIRequest{})
			if test.sent {
				require.NoError(t, err)
				assert.Equal(t, []string{"Bearer misstep_0123456789_secret"}, l.headers)
				return
			}
			require.Equal(t, codes.Unauthenticated, status.Code(err))
			assert.Contains(t, err.Error(), "a token is not sent to "+test.address+" over a connection that others can read: give "+
				"the coordinator's authority by --tls-ca")
			assert.NotContains(t, err.Error(), "secret")
			assert.Equal(t, 2, l.calls, "the call did not reach the coordinator")
		})
	}
}

// One address that leaves this host is enough: any of them may be called.
func TestSeveralAddresses(t *testing.T) {
	t.Setenv(TokenVariable, "misstep_x")
	for _, addrs := range [][]string{{"127.0.0.1:1", "192.0.2.7:1"}, {"192.0.2.7:1", "127.0.0.1:1"}} {
		b := &bearer{addrs: addrs}
		_, err := b.GetRequestMetadata(t.Context())
		require.ErrorContains(t, err, "a token is not sent to "+addrs[0]+", "+addrs[1])
	}
}

func TestWhereTheTokenComesFrom(t *testing.T) {
	l, api := listen(t, "127.0.0.1:7867", false)
	who := func() (string, error) {
		_, err := api.WhoAmI(t.Context(), &misstepv1.WhoAmIRequest{})
		if len(l.headers) == 0 {
			return "", err
		}
		return l.headers[0], err
	}
	file := filepath.Join(t.TempDir(), "token")
	t.Setenv(TokenFileVariable, file)
	_, err := who()
	require.ErrorContains(t, err, TokenFileVariable+": open "+file)
	require.NoError(t, os.WriteFile(file, []byte(" one \n"), 0o600))
	got, err := who()
	require.NoError(t, err)
	assert.Equal(t, "Bearer one", got)
	require.NoError(t, os.WriteFile(file, []byte("two"), 0o600))
	got, err = who()
	require.NoError(t, err)
	assert.Equal(t, "Bearer two", got, "it is read for each call, so it can be replaced")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = who()
	require.ErrorContains(t, err, TokenFileVariable+" "+file+": expected one token")
	t.Setenv(TokenVariable, "three\r\nx-header: y")
	_, err = who()
	require.ErrorContains(t, err, TokenVariable+": expected one token")
	assert.NotContains(t, err.Error(), "three")
	t.Setenv(TokenVariable, "three")
	got, err = who()
	require.NoError(t, err)
	assert.Equal(t, "Bearer three", got)
}
