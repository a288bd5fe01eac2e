package nomad

import (
	"github.com/hashicorp/nomad/api"

	misstepv1 "misstep/proto/misstep/v1"
)

// Values of a fleet's transport.
const (
	// TLS is the default.
	TLS = "tls"
	// PlainText is for networks that nobody else reads.
	PlainText = "plain_text"
)

// Items of the Nomad variable of each job of a fleet with TLS, which become files of the same names.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	authorityFile   = "ca.crt"
)

// TransportFiles are the items that the Nomad variable of each job must have for the fleet's transport.
func TransportFiles(f *misstepv1.Fleet) []string {
	if f.GetTransport() == PlainText {
		return nil
	}
	return []string{certificateFile, keyFile, authorityFile}
}

// Variables by which coordinators and runners take their options, with the file that each names.
var (
	coordinatorTLS = map[string]string{
		"MISSTEP_COORDINATOR_TLS_CERT": certificateFile, "MISSTEP_COORDINATOR_TLS_KEY": keyFile,
		"MISSTEP_COORDINATOR_TLS_CLIENT_CA": authorityFile,
	}
	runnerTLS = map[string]string{
		"MISSTEP_TLS_CERT": certificateFile, "MISSTEP_TLS_KEY": keyFile, "MISSTEP_TLS_CA": authorityFile,
	}
)

// transport gives a task of a job its certificate, key and authority, which it reads again when Nomad has replaced them; or it lets
// a coordinator do without.
func (m maker) transport(work *api.Task, job string, variables map[string]string) {
	work.Env = map[string]string{}
	if m.fleet.GetTransport() == PlainText {
		work.Env["MISSTEP_PLAIN_TEXT_NETWORK"] = "true"
		return
	}
	for name, file := range variables {
		work.Env[name] = "${NOMAD_SECRETS_DIR}/" + file
	}
	work.Templates = append(work.Templates, fileTemplates(VariablePath(job), TransportFiles(m.fleet))...)
}
