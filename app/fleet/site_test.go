package fleet_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"

	"misstep/app/fleet"
	"misstep/internal/testenv"
	"misstep/internal/testenv/nomad"
)

// site is one fleet on the ground, used as an administrator would: by the command line.
type site struct {
	*ground
	t        *testing.T
	dir      string
	binary   string
	file     string // the fleet file
	store    string // URL of the database
	work     string // folder of the fleet on the nodes
	packages string // folder of its packages on the web server
	env      []string
	// runners are the pids of all runners that were seen.
	runners map[string]bool
}

// parts of a fleet file that tests differ in.
type parts struct {
	// transport is plain_text unless it is given.
	transport string
	// coordinators, with its fields, and runners, with their list, follow what all fleets have.
	coordinators, runners string
}

// newSite writes a fleet file; nothing of the fleet runs yet.
func newSite(t *testing.T, p parts) *site {
	t.Helper()
	agent := testenv.Agent(t)
	s := &site{ground: stand(t), t: t, runners: map[string]bool{}, dir: t.TempDir()}
	s.sites++
	s.file = filepath.Join(s.dir, "fleet.yaml")
	name := fmt.Sprintf("fleet%d", s.sites)
	s.packages = filepath.Join(s.web(), name)
	require.NoError(t, os.Mkdir(s.packages, 0o755))
	// Users that tasks become pass through.
	s.work = fmt.Sprintf("/var/tmp/misstep-test-%d-%d", os.Getpid(), s.sites)
	s.off = slices.Insert(s.off, 0, func() error { return os.RemoveAll(s.work) }) // after a test that failed
	s.binary = s.build(t, "first")
	var err error
	s.store, err = s.database.Create(t.Context(), name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.file, fmt.Appendf(nil, `name: test
transport: %s
work: %s
artefacts: {url: %q}
coordinators:
  store: %s
  blobs: s3://%s/hunt%d?endpoint=%s
  lease_time: 10s
  resources: {disk: 200}
  secrets: [AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY]
%srunners:
%s`, cmp.Or(p.transport, "plain_text"), s.work, s.url+"/"+name, s.store, s.bucket.Bucket, s.sites, s.bucket.Endpoint, p.coordinators,
		p.runners), 0o600))
	s.forgetVariables()
	s.env = append(os.Environ(), "NOMAD_ADDR="+s.cluster.Address, "NOMAD_TOKEN="+s.cluster.Token, "MISSTEP_AGENT="+agent,
		"AWS_ACCESS_KEY_ID="+s.bucket.AccessKey, "AWS_SECRET_ACCESS_KEY="+s.bucket.SecretKey)
	return s
}

// changed writes the fleet file with a change to another file.
func (s *site) changed(from, to string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.file)
	require.NoError(s.t, err)
	require.Contains(s.t, string(text), from)
	other := filepath.Join(s.dir, "changed.yaml")
	require.NoError(s.t, os.WriteFile(other, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
	return other
}

// forgetVariables removes the variables of jobs that an earlier test wrote on the same cluster: `fleet down` leaves them.
func (s *site) forgetVariables() {
	client, err := api.NewClient(&api.Config{Address: s.cluster.Address, SecretID: s.cluster.Token})
	require.NoError(s.t, err)
	all, _, err := client.Variables().PrefixList("nomad/jobs", nil)
	require.NoError(s.t, err)
	for _, v := range all {
		_, err := client.Variables().Delete(v.Path, nil)
		require.NoError(s.t, err)
	}
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
	s.noteRunners()
	command := s.command(ctx, args...)
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

func (s *site) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.binary, args...)
	command.Env = s.env
	return command
}

func (s *site) status() (out fleet.Status) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal([]byte(s.run("fleet", "status", s.file, "--json")), &out))
	return out
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
	require.Empty(s.t, s.orphans(), "control groups of trials whose runner is dead")
}

// noteRunners notes which runners there are.
func (s *site) noteRunners() {
	for _, node := range s.cluster.Clients {
		for _, pid := range s.processes(node, "misstep\x00runner\x00") {
			s.runners[strconv.Itoa(pid)] = true
		}
	}
}

// orphans are the control groups of trials of this fleet's runners that are dead.
func (s *site) orphans() (left []string) {
	s.t.Helper()
	require.NoError(s.t, filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // groups of others come and go
		}
		if pid, is := strings.CutPrefix(d.Name(), "trial-"); is {
			pid, _, _ = strings.Cut(pid, "-")
			if n, err := strconv.Atoi(pid); err == nil && s.runners[pid] && !alive(n) {
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

// alive reports whether a process runs.
func alive(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(line) > 0 // that of a dead one is empty until its parent has looked
}

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
