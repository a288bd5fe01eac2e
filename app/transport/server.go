package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"misstep/internal/within"
)

// Ages of connections. A client that renewed its certificate shows it with its next connection, long before the old one ends.
const (
	maxAge           = 15 * time.Minute
	maxAgeGrace      = time.Hour // for calls that have begun
	handshakeTimeout = 20 * time.Second
)

// ServerOptions make a gRPC server speak TLS; ping is how it probes connections. The source must have a certificate.
func (s *Source) ServerOptions(ping keepalive.ServerParameters) []grpc.ServerOption {
	ping.MaxConnectionAge, ping.MaxConnectionAgeGrace = maxAge, maxAgeGrace
	return []grpc.ServerOption{
		grpc.Creds(&serverCredentials{source: s, often: &rate.Sometimes{First: 10, Interval: 10 * time.Second}}),
		grpc.ConnectionTimeout(handshakeTimeout), grpc.KeepaliveParams(ping),
	}
}

// ForBrowsers is how pages are served by the same certificate, whichever the files have at the moment of a handshake. Browsers show
// no certificate of their own: people log in.
func (s *Source) ForBrowsers() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &s.now().own[0], nil },
	}
}

// serverCredentials are those of the moment of each handshake.
type serverCredentials struct {
	source *Source
	// often bounds how often failures are logged: anybody can cause them.
	often *rate.Sometimes
}

// connection is what is known of a client's connection.
type connection struct {
	credentials.TLSInfo
	// verdict of the last call.
	verdict atomic.Pointer[verdict]
}

// ServerHandshake implements credentials.TransportCredentials.
func (c *serverCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if within.Is(raw) { // the pages' own connection
		return insecure.NewCredentials().ServerHandshake(raw)
	}
	conn, info, err := c.source.now().server.ServerHandshake(raw)
	if said, ok := raw.(interface{ Spoke() bool }); err != nil && ok && !said.Spoke() {
		return nil, nil, err // somebody tried whether the port is open, as Nomad does every few seconds
	}
	if err != nil {
		c.often.Do(func() {
			why := err.Error()
			if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
				why = "the client speaks plain text: give it --tls-ca"
			}
			c.source.logger.Warn("connection refused", "address", raw.RemoteAddr().String(), "error", why)
		})
		return nil, nil, err
	}
	return conn, &connection{TLSInfo: info.(credentials.TLSInfo)}, nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *serverCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are credentials of a server")
}

// Info implements credentials.TransportCredentials.
func (c *serverCredentials) Info() credentials.ProtocolInfo { return c.source.now().server.Info() }

// Clone implements credentials.TransportCredentials.
func (c *serverCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials.
func (c *serverCredentials) OverrideServerName(string) error {
	return errors.New("these are credentials of a server")
}
