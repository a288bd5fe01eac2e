package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"misstep/internal/serverlog"
)

// Start serves the site on an address until stop is called, by TLS with that configuration unless it is nil, and returns its URL.
func (s *Site) Start(address string, secure *tls.Config) (url string, stop func(), err error) {
	if err := s.checkAddress(address); err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("serve pages on %s: %w; choose another address", address, err)
	}
	scheme := "http"
	at := listener.Addr().String()
	if secure != nil {
		listener, scheme = tls.NewListener(listener, secure), "https"
	}
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: serverlog.New(s.Logger, "pages"),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	return scheme + "://" + at + "/", func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("serve pages: %v", err)) // Serve ends with no other error after Close
		}
	}, nil
}

// checkAddress returns an error if the site on an address would show to others what is for this host.
func (s *Site) checkAddress(address string) error {
	at, err := net.ResolveTCPAddr("tcp", address)
	switch {
	case err != nil:
		return fmt.Errorf("serve pages on %s: %w; choose another address", address, err)
	case at.IP.IsLoopback():
		return nil
	case !s.Asks:
		return fmt.Errorf("pages on %s could be read by other machines, and nobody is asked to log in: serve them on 127.0.0.1, "+
			"or let the coordinator ask who calls (--auth or --oidc-issuer)", address)
	case !s.TLS:
		return fmt.Errorf("pages on %s could be read by other machines, and credentials would travel in plain text: give "+
			"--tls-cert and --tls-key, or serve them on 127.0.0.1", address)
	}
	return nil
}
