package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/internal/testenv/nomad"
	"misstep/internal/testenv/pgtest"
)

// site is a Nomad cluster of three nodes, a database, a bucket and a web server for packages, used as an administrator would: by
// the command line.
type site struct {
	t       *testing.T
	cluster *nomad.Cluster
	dir     string // of everything below
	web     string // folder of the web server
	binary  string
	file    string // the fleet file
	work    string // folder of the fleet on the nodes
	env     []string
	before  []string // control groups that others have left
}

// newSite starts everything. The text is that of the fleet file's runners.
func newSite(t *testing.T, runners string) *site {
	t.Helper()
	agent := testenv.Agent(t)
	if _, err := pgtest.Binaries(); err != nil {
		t.Skip(err)
	}
	if !testenv.HasS3() {
		t.Skip("no S3 server; deploy/setup/install.sh test builds one")
	}
	s := &site{t: t, before: orphans(t), cluster: nomad.Start(t, 3), dir: t.TempDir()}
	s.web, s.file = filepath.Join(s.dir, "web"), filepath.Join(s.dir, "fleet.yaml")
	// Users that tasks become pass through.
	s.work = filepath.Join("/var/tmp", "misstep-test-"+filepath.Base(filepath.Dir(s.dir)))
	require.NoError(t, os.MkdirAll(s.web, 0o755))
	s.binary = s.build("first")

	store, err := pgtest.Start(t).Create(t.Context(), "fleet")
	require.NoError(t, err)
	bucket, stop, err := testenv.LaunchS3At(s.cluster.Host, t.TempDir())
	require.NoError(t, err)
	t.Cleanup(stop)
	listener, err := net.Listen("tcp", net.JoinHostPort(s.cluster.Host, "0"))
	require.NoError(t, err)
	server := &http.Server{Handler: http.FileServer(http.Dir(s.web)), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })

	require.NoError(t, os.WriteFile(s.file, fmt.Appendf(nil, `name: test
transport: plain_text
work: %s
artefacts: {url: "http://%s"}
coordinators:
  count: 2
  store: %s
  blobs: s3://%s/hunt?endpoint=%s
  lease_time: 10s
  resources: {disk: 200}
  secrets: [AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY]
  environment: {MISSTEP_PLAIN_TEXT_NETWORK: "true"}
runners:
%s`, s.work, listener.Addr(), store, bucket.Bucket, bucket.Endpoint, runners), 0o600))
	s.env = append(os.Environ(), "NOMAD_ADDR="+s.cluster.Address, "NOMAD_TOKEN="+s.cluster.Token, "MISSTEP_AGENT="+agent,
		"AWS_ACCESS_KEY_ID="+bucket.AccessKey, "AWS_SECRET_ACCESS_KEY="+bucket.SecretKey)
	return s
}

// build builds a binary with that version.
func (s *site) build(version string) string {
	s.t.Helper()
	binary := filepath.Join(s.dir, version, "misstep")
	build := exec.CommandContext(s.t.Context(), "go", "build", "-ldflags", "-s -w -X main.version="+version, "-o", binary,
		"./cmd/misstep")
	build.Dir = testenv.Root()
	out, err := build.CombinedOutput()
	require.NoError(s.t, err, string(out))
	return binary
}

// run runs the command line and returns what it printed.
func (s *site) run(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	require.NoError(s.t, err, "misstep %s", strings.Join(args, " "))
	return out
}

// try is run for a command that may fail; the error has what it said.
func (s *site) try(args ...string) (string, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, s.binary, args...)
	command.Env = s.env
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	began := time.Now()
	err := command.Run()
	s.t.Logf("%5.1fs misstep %.120s\n%s", time.Since(began).Seconds(), strings.Join(args, " "), said.String())
	if err != nil {
		err = fmt.Errorf("%w: %s", err, said.String())
	}
	return strings.TrimSpace(out.String()), err
}

// nothingLeft requires that the fleet has left nothing on the nodes and in Nomad.
func (s *site) nothingLeft() {
	s.t.Helper()
	client, err := s.cluster.Client()
	require.NoError(s.t, err)
	defer client.Close()
	jobs, _, err := client.Jobs().List(nil)
	require.NoError(s.t, err)
	require.Empty(s.t, jobs)
	require.NoDirExists(s.t, s.work)
	for _, node := range s.cluster.Clients {
		pids, err := node.Processes()
		require.NoError(s.t, err)
		for _, pid := range pids {
			if line := commandLine(pid); line != "" {
				require.Contains(s.t, line, "tools/nomad", "only Nomad runs on %s", node.Name)
			}
		}
	}
	require.Subset(s.t, s.before, orphans(s.t), "control groups of trials whose runner is dead")
}

// orphans are the control groups of trials of all runners on this machine that are dead.
func orphans(t *testing.T) []string {
	t.Helper()
	left := []string{}
	require.NoError(t, filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // groups of others come and go
		}
		if pid, is := strings.CutPrefix(d.Name(), "trial-"); is {
			pid, _, _ = strings.Cut(pid, "-")
			if _, err := os.Stat("/proc/" + pid); err != nil {
				left = append(left, path)
			}
		}
		return nil
	}))
	return left
}

const (
	waiting = 90 * time.Second
	polling = 500 * time.Millisecond
)

func commandLine(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(line)
}

// nodes are the names of the nodes that run something of a job.
func (s *site) nodes(job string) (names []string) {
	s.t.Helper()
	for _, j := range s.status().Jobs {
		for _, a := range j.Allocations {
			if j.ID == job && a.State == "running" {
				names = append(names, a.Node)
			}
		}
	}
	return names
}

func (s *site) on(job, node string) bool {
	return slices.Contains(s.nodes(job), node)
}

// nodeOf returns a node that runs something of a job, the last by name.
func (s *site) nodeOf(job string) *nomad.Client {
	s.t.Helper()
	for _, client := range slices.Backward(s.cluster.Clients) {
		if s.on(job, client.Name) {
			return client
		}
	}
	s.t.Fatalf("no node runs %s: %s", job, s.run("fleet", "status", s.file))
	return nil
}

// processes are those of a node whose command line has the text.
func (s *site) processes(node *nomad.Client, text string) (all []int) {
	s.t.Helper()
	pids, err := node.Processes()
	require.NoError(s.t, err)
	for _, pid := range pids {
		if strings.Contains(commandLine(pid), text) {
			all = append(all, pid)
		}
	}
	return all
}
