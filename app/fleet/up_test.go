package fleet

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
)

const withSecret = `name: small
transport: plain_text
artefacts: {path: /opt/misstep}
coordinators: {dir: /srv/misstep, node: alpha, secrets: [MISSTEP_TEST_SECRET]}
runners:
  - {name: plain, count: 1}
`

func TestPutItems(t *testing.T) {
	all := []string{"PGPASSWORD", "tls.crt", "tls.key"}
	require.Equal(t, "`nomad var put -force -out none v PGPASSWORD=… tls.crt=@FILE tls.key=@FILE` writes all of it",
		putItems("v", all, []string{"tls.key"}), "no environment has a certificate")
	require.Equal(t, "`nomad var put -force -out none v PGPASSWORD=… tls.crt=@FILE tls.key=@FILE` writes all of it, "+
		"`--put-secrets` what the environment has of PGPASSWORD", putItems("v", all, []string{"PGPASSWORD", "tls.crt"}))
}

// After a secret has changed `up` waits until Nomad has restarted the tasks that read it, and for what becomes of them.
func TestUpWaitsForWhatASecretRestarts(t *testing.T) {
	for name, c := range map[string]struct {
		before, value string
		after         func(poll int) *api.AllocationListStub // the restart
		want, said    string
	}{
		"right": {
			"old", "new", func(int) *api.AllocationListStub { return serving("a", 9, 1) }, "",
			"job small-coordinator: Nomad restarts its tasks with other secrets, each within a minute\n",
		},
		"wrong": {
			"old", "nope", func(poll int) *api.AllocationListStub { return crashing("a", 9, min(4, poll)) },
			"Exit Code: 2; see `nomad alloc logs -stderr a`; remove the cause and run `misstep fleet up` again; its secrets were " +
				"replaced just now, and Nomad does not keep those before: if one is wrong, run `misstep fleet up --put-secrets` with " +
				"the right one", "stderr: refused\n",
		},
		"the same": {"new", "new", nil, "", ""},
		"not here": {"old", "", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("MISSTEP_TEST_SECRET", c.value)
			path, polls := nomad.VariablePath("small-coordinator"), 0
			f := &fake{
				variables: map[string]*api.Variable{path: {Path: path, Items: api.VariableItems{"MISSTEP_TEST_SECRET": c.before, "o": "o"}}},
				log:       func() (string, int) { return "refused\n", http.StatusOK }, check: "success",
			}
			f.allocations = func() []*api.AllocationListStub {
				if c.after == nil || f.variables[path].Items["MISSTEP_TEST_SECRET"] == c.before {
					return []*api.AllocationListStub{serving("a", 1, 0)}
				}
				if polls++; polls < 30 { // it takes Nomad a while
					return []*api.AllocationListStub{serving("a", 1, 0)}
				}
				return []*api.AllocationListStub{c.after(polls - 30)}
			}
			cluster := f.open(t, withSecret)
			f.jobs = registered(cluster, "")
			err := cluster.Up(bounded(t), "", true)
			if c.want == "" {
				require.NoError(t, err)
				require.Contains(t, f.asked, "PUT /v1/jobs")
			} else {
				require.ErrorContains(t, err, c.want)
			}
			require.Contains(t, f.said, c.said)
			require.Equal(t, c.after != nil, strings.Contains(f.said, "wrote variable"), f.said)
			if c.after != nil {
				require.Greater(t, polls, 30)
				require.Equal(t, api.VariableItems{"MISSTEP_TEST_SECRET": c.value, "o": "o"}, f.variables[path].Items)
			}
		})
	}
}

// `up` replaces the package of no fleet that has ever been healthy, and changes nothing then.
func TestUpKeepsThePackage(t *testing.T) {
	old, other := "sha256:"+strings.Repeat("0", 64), "sha256:"+strings.Repeat("f", 64)
	const line = "job small-coordinator: sha256:000000000000 -> sha256:ffffffffffff"
	for name, c := range map[string]struct {
		runs            string
		stable, stopped bool
		refused         bool
	}{
		"another":       {old, true, false, true},
		"the same":      {other, true, false, false},
		"never healthy": {old, false, false, false},
		"stopped":       {old, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("MISSTEP_TEST_SECRET", "new")
			f := &fake{
				versions: []*api.Job{{Stable: new(false)}, {Stable: &c.stable}}, variables: map[string]*api.Variable{},
			}
			f.allocations = func() []*api.AllocationListStub {
				return []*api.AllocationListStub{serving("a", int64(len(f.variables)), 0)} // restarts with the secret
			}
			web := "artefacts: {url: 'http://127.0.0.1:1'}" // nobody is there, and the nodes may reach it
			cluster := f.open(t, strings.Replace(withSecret, "artefacts: {path: /opt/misstep}", web, 1))
			f.jobs = registered(cluster, c.runs)
			for _, job := range f.jobs {
				job.Stop = &c.stopped
			}
			text, err := cluster.Plan(t.Context(), other)
			require.NoError(t, err)
			require.Equal(t, c.refused, strings.Contains(text, "! "+line+": only `misstep fleet upgrade`"), text)
			err = cluster.Up(bounded(t), other, true)
			if !c.refused {
				require.NoError(t, err)
				require.Contains(t, f.asked, "PUT /v1/jobs")
				return
			}
			require.ErrorContains(t, err, "the fleet runs another package: "+line+"; job small-plain: sha256:0")
			require.Equal(t, []string{"PUT /v1/job/small-coordinator/plan", "PUT /v1/job/small-plain/plan"}, f.asked)
		})
	}
}
