package main

import (
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/grpc"

	"misstep/app/transport"
)

// tlsFlags secure the connections to coordinators; without any of them they are plain text.
type tlsFlags struct {
	CA   string `name:"tls-ca" help:"Authorities that sign coordinators' certificates: makes connections secure (TLS)." env:"MISSTEP_TLS_CA" type:"path" placeholder:"FILE"`
	Cert string `name:"tls-cert" help:"Certificate of this runner, with --tls-key." env:"MISSTEP_TLS_CERT" type:"path" placeholder:"FILE"`
	Key  string `name:"tls-key" help:"Key of --tls-cert." env:"MISSTEP_TLS_KEY" type:"path" placeholder:"FILE"`
}

// source opens the files; nil without any.
func (f tlsFlags) source(logger *slog.Logger) (*transport.Source, error) {
	files := transport.Files{CA: f.CA, Certificate: f.Cert, Key: f.Key}
	if !files.Any() {
		return nil, nil
	}
	s, err := transport.Open(files, logger)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return s, nil
}

// dial returns the options of connections.
func (f tlsFlags) dial(logger *slog.Logger) ([]grpc.DialOption, error) {
	s, err := f.source(logger)
	if s == nil || err != nil {
		return nil, err
	}
	return []grpc.DialOption{s.DialOption()}, nil
}

// serveTLSFlags secure a coordinator.
type serveTLSFlags struct {
	Cert      string   `name:"tls-cert" help:"Certificate of this coordinator, with --tls-key: serves by TLS 1.3 only. It and the other files may be replaced while the coordinator runs." env:"MISSTEP_COORDINATOR_TLS_CERT" type:"path" placeholder:"FILE"`
	Key       string   `name:"tls-key" help:"Key of --tls-cert." env:"MISSTEP_COORDINATOR_TLS_KEY" type:"path" placeholder:"FILE"`
	ClientCA  string   `name:"tls-client-ca" help:"Authorities that sign runners' certificates: callers must then say who they are." env:"MISSTEP_COORDINATOR_TLS_CLIENT_CA" type:"path" placeholder:"FILE"`
	CRL       string   `name:"tls-crl" help:"Revoked certificates of --tls-client-ca, such as crl.pem of misstep pki." env:"MISSTEP_COORDINATOR_TLS_CRL" type:"path" placeholder:"FILE"`
	RunnerIDs []string `name:"runner-id" help:"URI in runners' certificates, with * for the name, such as spiffe://example.org/misstep/runner/*." default:"misstep://runner/*" placeholder:"URI" sep:"none"`

	PlainTextNetwork bool `help:"Without TLS, let other machines connect all the same: everybody who can reach the coordinator may read, change and overhear everything." env:"MISSTEP_PLAIN_TEXT_NETWORK"`
}

// secure opens the files and returns how runners' certificates name them; nil without any file.
func (f serveTLSFlags) secure(logger *slog.Logger) (*transport.Source, transport.RunnerIDs, error) {
	ids, err := transport.ParseRunnerIDs(f.RunnerIDs)
	if err != nil {
		return nil, nil, fmt.Errorf("--runner-id %w", err)
	}
	switch {
	case f.Cert == "" && f.Key+f.ClientCA+f.CRL != "":
		return nil, nil, errors.New("--tls-key, --tls-client-ca and --tls-crl need --tls-cert")
	case f.Cert == "":
		return nil, nil, nil
	case f.CRL != "" && f.ClientCA == "":
		return nil, nil, errors.New("--tls-crl needs --tls-client-ca, whose certificates it revokes")
	}
	s, err := transport.Open(transport.Files{CA: f.ClientCA, Certificate: f.Cert, Key: f.Key, CRL: f.CRL}, logger)
	if err != nil {
		return nil, nil, fmt.Errorf("TLS: %w", err)
	}
	return s, ids, nil
}
