package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// DialOption makes a client speak TLS. The coordinator's certificate must be for the host by which it is called.
func (s *Source) DialOption() grpc.DialOption {
	return grpc.WithTransportCredentials(clientCredentials{s})
}

// clientCredentials are those of the moment of each handshake.
type clientCredentials struct{ source *Source }

// ClientHandshake implements credentials.TransportCredentials.
func (c clientCredentials) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.source.now().client.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, explainServer(err)
	}
	return conn, info, nil
}

// ServerHandshake implements credentials.TransportCredentials.
func (clientCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are credentials of a client")
}

// Info implements credentials.TransportCredentials.
func (c clientCredentials) Info() credentials.ProtocolInfo { return c.source.now().client.Info() }

// Clone implements credentials.TransportCredentials.
func (c clientCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials.
func (clientCredentials) OverrideServerName(string) error {
	return errors.New("the name of a coordinator is that of its address")
}

// explainServer says what is wrong with a coordinator's end and what to do.
func explainServer(err error) error {
	remedy := ""
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return errors.New("it speaks plain text: leave out --tls-ca and --tls-cert (and MISSTEP_TLS_CA, MISSTEP_TLS_CERT), or " +
			"start it with --tls-cert")
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		remedy = "give the authority that signed its certificate by --tls-ca"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		remedy = "call it by a name of its certificate, or issue one with this name (`misstep pki issue coordinator NAME…`)"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		switch invalid.Reason {
		case x509.Expired:
			remedy = "issue it a new certificate (`misstep pki issue coordinator NAME… --renew`), or set the clocks"
		case x509.IncompatibleUsage:
			remedy = "its certificate is not for servers: issue one with `misstep pki issue coordinator NAME…`"
		}
	}
	if strings.Contains(err.Error(), "protocol version") {
		remedy = "both ends need TLS 1.3"
	}
	if remedy == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, remedy)
}
