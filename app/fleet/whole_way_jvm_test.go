package fleet_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/internal/testenv/oidctest"
)

// The whole way of an administrator and a user, over TLS: certificates, secrets, the fleet, the first token, a login, a JDK and a
// workload in the shared catalogue, a campaign that names them from a machine that has neither, its finding, the bundle, and the
// end. Runners follow the backlog meanwhile.
func TestTheWholeWay(t *testing.T) {
	jdk := testenv.Catalogued(t, "jdk17").Path
	var hosts []string
	for _, node := range stand(t).cluster.Clients {
		hosts = append(hosts, node.Address)
	}
	pki := t.TempDir()
	s := newSite(t, parts{transport: "tls", runners: "  - {name: plain, min: 1, max: 2}\n" +
		"  - {name: nowhere, max: 2, cost: 0.1, node_class: none}\n"})
	s.env = append(s.env, "MISSTEP_HOME="+filepath.Join(s.dir, "admin"), "MISSTEP_TOKEN=", "MISSTEP_TOKEN_FILE=")
	s.run("pki", "init", "--dir", pki)
	s.run(append([]string{"pki", "issue", "coordinator", "--dir", pki, "--out", filepath.Join(pki, "c")}, hosts...)...)
	s.run("pki", "issue", "runner", "plain", "--dir", pki, "--out", filepath.Join(pki, "r"))
	s.run("pki", "issue", "coordinator", s.cluster.Host, "--dir", pki, "--out", filepath.Join(pki, "provider"))
	certificate, err := tls.LoadX509KeyPair(filepath.Join(pki, "provider", "tls.crt"), filepath.Join(pki, "provider", "tls.key"))
	require.NoError(t, err)
	provider := oidctest.StartAt(t, s.cluster.Host, certificate)
	authority := filepath.Join(pki, "c", "ca.crt")
	text, err := os.ReadFile(s.file)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("coordinators:\n"), fmt.Appendf(nil, `coordinators:
  arguments: [--oidc-issuer, %q, %q] # an id may begin with -
  environment: {SSL_CERT_FILE: %q}
`, provider.Issuer(), "--oidc-client-id="+provider.ClientID, authority), 1)
	require.NoError(t, os.WriteFile(s.file, text, 0o600))
	s.env = append(s.env, "MISSTEP_TLS_CA="+authority, "SSL_CERT_FILE="+authority)

	s.run("fleet", "package", "-o", s.packages)
	_, err = s.try("fleet", "up", s.file, "--put-secrets")
	require.ErrorContains(t, err, "variable nomad/jobs/test-plain has no tls.crt, tls.key, ca.crt")
	s.variable("test-coordinator", filepath.Join(pki, "c"), "AWS_ACCESS_KEY_ID="+s.bucket.AccessKey,
		"AWS_SECRET_ACCESS_KEY="+s.bucket.SecretKey)
	s.variable("test-plain", filepath.Join(pki, "r"))
	s.variable("test-nowhere", filepath.Join(pki, "r"))
	coordinator := s.run("fleet", "up", s.file)
	_, err = s.try("campaign", "list", "--coordinator", coordinator)
	require.ErrorContains(t, err, "run `misstep login`")

	admin := s.run("token", "create", "root", "--role", "admin", "--store", s.store)
	root := s.with("MISSTEP_TOKEN=" + admin)
	root.run("access", "grant", "hunter", "anna@example.org", "--coordinator", coordinator)
	root.run("jdk", "add", jdk, "--name", "openjdk-17-pr1", "--coordinator", coordinator)
	root.run("workload", "add", filepath.Join(testenv.Root(), "build", "workloads", "clinit"), "--coordinator", coordinator)

	_, err = s.with("MISSTEP_TOKEN="+admin[:len(admin)-1]+"v").try("fleet", "scale", s.file, "--auto")
	require.ErrorContains(t, err, "misstep: ask for the backlog: the token is not valid at this coordinator: make one with")

	scaling := root.follow("fleet", "scale", s.file, "--auto", "--every", "1s", "--per-slot", "2")
	anna := s.with("MISSTEP_HOME=" + filepath.Join(s.dir, "anna"))
	login := anna.follow("login", "--coordinator", coordinator)
	provider.Approve(provider.Began(), &mockoidc.MockUser{Subject: "1", Email: "anna@example.org", EmailVerified: true})
	require.NoError(t, login.Wait(), login)
	require.Contains(t, anna.run("whoami", "--coordinator", coordinator), "anna@example.org (person), may: hunter")
	spec := filepath.Join(s.dir, "hunt.yaml")
	require.NoError(t, os.WriteFile(spec, []byte(`
name: whole-way
jdks: [openjdk-17-pr1]
workloads: [{name: clinit, flag_sets: [c1]}]
flag_sets: [{name: c1, flags: ["-XX:TieredStopAtLevel=1", -Xcomp]}]
checks: [{name: gst-asgct}]
budget: {trials: 4}
`), 0o600))
	id := anna.run("campaign", "submit", spec, "--coordinator", coordinator)
	require.Eventually(t, func() bool {
		return strings.Contains(scaling.String(), "group plain: 1 -> 2 runners")
	}, waiting, polling)
	require.Equal(t, 1, strings.Count(scaling.String(), "group nowhere: no more than 0 runners: no node for it: "), "said once")
	anna.finished(id, 4)
	var found []struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(anna.run("findings", "list", "--json", "--coordinator", coordinator)), &found))
	require.NotEmpty(t, found)
	bundle := filepath.Join(s.dir, "bundle.zip")
	anna.run("findings", "bundle", found[0].ID, "--out", bundle, "--coordinator", coordinator)
	require.Contains(t, anna.run("bundle", "verify", bundle), "all intact")
	_, err = anna.try("jdk", "rm", "openjdk-17-pr1", "--coordinator", coordinator)
	require.ErrorContains(t, err, "belongs to token root")

	require.NoError(t, scaling.Process.Signal(os.Interrupt))
	require.NoError(t, scaling.Wait(), scaling)
	require.NotContains(t, scaling.String(), "group nowhere: 0 ->")
	_, err = s.try("fleet", "upgrade", s.file)
	require.ErrorContains(t, err, "ask which campaigns need the old agent")
	require.NotContains(t, err.Error(), "->", "before anything changes")
	root.run("fleet", "upgrade", s.file) // to what runs: which agents campaigns need is asked over TLS
	_, err = anna.try("audit", "--coordinator", coordinator)
	require.ErrorContains(t, err, "anna@example.org may not call ListAudit")
	require.Contains(t, root.run("audit", "--coordinator", coordinator), "SubmitCampaign")
	s.run("fleet", "down", s.file)
	s.nothingLeft()
}

// with is the site for somebody with further variables in the environment.
func (s *site) with(variables ...string) *site {
	other := *s
	other.env = slices.Concat(s.env, variables)
	return &other
}

// variable writes a job's Nomad variable by Nomad's own command: a certificate's files and more items.
func (s *site) variable(job, files string, items ...string) {
	s.t.Helper()
	args := []string{"var", "put", "-force", "nomad/jobs/" + job}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		args = append(args, name+"=@"+filepath.Join(files, name))
	}
	put := exec.CommandContext(s.t.Context(), filepath.Join(testenv.Root(), "build", "tools", "nomad"), append(args, items...)...)
	put.Env = s.env
	out, err := put.CombinedOutput()
	require.NoError(s.t, err, string(out))
}

// followed is a command that runs, and what it has printed so far.
type followed struct {
	*exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

// follow starts a command that ends with the test at the latest.
func (s *site) follow(args ...string) *followed {
	s.t.Helper()
	f := &followed{Cmd: s.command(s.t.Context(), args...)}
	f.Stdout, f.Stderr = f, f
	require.NoError(s.t, f.Start())
	return f
}

func (f *followed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(p)
}

func (f *followed) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.String()
}
