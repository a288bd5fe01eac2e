package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
)

const small = `name: small
artefacts: {path: /opt/misstep}
coordinators: {dir: /srv/misstep, node: alpha}
runners:
  - {name: plain, count: 2}
`

// Each line of a file is changed in one way; the message names the line, the field and the remedy.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"name":                {"name: small", "name: Small", `f.yaml:1: name: expected 1 to 32 lowercase letters, digits and dashes, got "Small"`},
		"transport":           {"name: small", "name: small\ntransport: http", `f.yaml:2: transport: expected tls or plain_text, got "http"`},
		"unknown field":       {"artefacts:", "artifacts:", "f.yaml:2: artifacts: unknown field, did you mean artefacts?"},
		"no artefacts":        {"{path: /opt/misstep}", "{}", "f.yaml:2: artefacts: expected either url"},
		"two sources":         {"{path: /opt/misstep}", "{path: /opt/misstep, url: 'http://a/b'}", "f.yaml:2: artefacts: expected either url"},
		"artefacts elsewhere": {"{path: /opt/misstep}", "{url: 's3://a/b'}", "f.yaml:2: artefacts.url: expected http:// or https://"},
		"user of artefacts":   {"{path: /opt/misstep}", "{url: 'http://u:p@a/b'}", "f.yaml:2: artefacts.url: contains a user"},
		"relative path":       {"/opt/misstep", "opt/misstep", "f.yaml:2: artefacts.path: expected an absolute path"},
		"path that climbs":    {"/opt/misstep", "/opt/../etc", "f.yaml:2: artefacts.path: expected an absolute path"},
		"path of Nomad's":     {"/opt/misstep", "\"/opt/${x}\"", "f.yaml:2: artefacts.path: expected an absolute path"},
		"whole disk":          {"/srv/misstep", "/srv", "f.yaml:3: coordinators.dir: expected an absolute path of at least two parts"},
		"no store":            {"{dir: /srv/misstep, node: alpha}", "{}", "f.yaml:3: coordinators.dir: is needed without store and blobs"},
		"dir anywhere":        {", node: alpha", "", "f.yaml:3: coordinators.node: is needed with dir"},
		"dir in a chroot":     {", node: alpha", ", node: alpha, driver: exec", "f.yaml:3: coordinators.driver: exec does not show dir"},
		"two on a disk":       {", node: alpha", ", node: alpha, count: 2", "f.yaml:3: coordinators.count: 2 coordinators need a store and blobs"},
		"password":            {", node: alpha", ", node: alpha, store: 'postgres://u:hush@h/d'", "f.yaml:3: coordinators.store: contains a password"},
		"password parameter":  {", node: alpha", ", node: alpha, store: 'postgres://u@h/d?password=hush'", "f.yaml:3: coordinators.store: contains a password"},
		"store":               {", node: alpha", ", node: alpha, store: 'mysql://h/d'", "f.yaml:3: coordinators.store: expected postgres://"},
		"port":                {", node: alpha", ", node: alpha, port: 70000", "f.yaml:3: coordinators.port: expected at most 65535"},
		"lease time":          {", node: alpha", ", node: alpha, lease_time: 1ms", "f.yaml:3: coordinators.lease_time: expected 1s to 1h0m0s, got 1ms"},
		"secret in the open":  {", node: alpha", ", node: alpha, environment: {PGPASSWORD: hush}", "f.yaml:3: coordinators.environment.PGPASSWORD: looks like a secret"},
		"secret twice":        {", node: alpha", ", node: alpha, secrets: [A, A]", "f.yaml:3: coordinators.secrets[1]: A is given twice"},
		"secret and not":      {", node: alpha", ", node: alpha, secrets: [A], environment: {A: b}", "f.yaml:3: coordinators.secrets[0]: \"A\" is in environment, too"},
		"climbing file":       {", node: alpha", ", node: alpha, secret_files: [../a]", "f.yaml:3: coordinators.secret_files[0]: expected a name"},
		"no runners":          {"runners:\n  - {name: plain, count: 2}\n", "", "f.yaml:1: runners: is required"},
		"no count":            {", count: 2", "", "f.yaml:5: runners[0].count: is required, or min and max"},
		"only min":            {"count: 2", "min: 2", "f.yaml:5: runners[0].max: is required with min"},
		"min above max":       {"count: 2", "min: 3, max: 2", "f.yaml:5: runners[0].min: expected at most max, 2, got 3"},
		"count beyond":        {"count: 2", "count: 5, min: 1, max: 3", "f.yaml:5: runners[0].count: expected min to max, 1 to 3, got 5"},
		"negative":            {"count: 2", "count: -2", "f.yaml:5: runners[0].count: expected a non-negative integer"},
		"two of a name":       {"count: 2}", "count: 2}\n  - {name: plain, count: 1}", "f.yaml:6: runners[1].name: \"plain\" is the name of runners[0], too"},
		"reserved name":       {"name: plain", "name: coordinator", "f.yaml:5: runners[0].name: coordinator is the name of another job of the fleet"},
		"capability":          {"count: 2", "count: 2, capability: gpu", "f.yaml:5: runners[0].capability: expected plain, sched_ext or vm, got \"gpu\""},
		"no class":            {"count: 2", "count: 2, capability: sched_ext", "f.yaml:5: runners[0].node_class: is required for sched_ext"},
		"isolated":            {"count: 2", "count: 2, capability: sched_ext, node_class: c, driver: exec", "f.yaml:5: runners[0].driver: exec keeps sched_ext"},
		"scheduler of a user": {"count: 2", "count: 2, capability: sched_ext, node_class: c, user: me", "f.yaml:5: runners[0].user: loading a scheduler needs root"},
		"driver":              {"count: 2", "count: 2, driver: docker", "f.yaml:5: runners[0].driver: expected raw_exec or exec, got \"docker\""},
		"drain":               {"count: 2", "count: 2, drain: 48h", "f.yaml:5: runners[0].drain: expected 0s to 24h0m0s, got 48h0m0s"},
		"disk":                {"count: 2", "count: 2, resources: {disk: 50}", "f.yaml:5: runners[0].resources.disk: expected at least 200 MiB"},
		"cost":                {"count: 2", "count: 2, cost: -1", "f.yaml:5: runners[0].cost: expected 0 to 1000000, got -1"},
		"operator":            {"count: 2", "count: 2, constraints: [{attribute: a, operator: like, value: b}]", "f.yaml:5: runners[0].constraints[0].operator: expected one of"},
		"expression":          {"count: 2", "count: 2, constraints: [{attribute: a, operator: regexp, value: '('}]", "f.yaml:5: runners[0].constraints[0].value: expected a regular expression"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(small, c.from, c.to, 1)
			require.NotEqual(t, small, text)
			_, err := Parse([]byte(text), "f.yaml")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hush", "messages go to logs")
		})
	}
	_, err := Parse([]byte(small), "f.yaml")
	require.NoError(t, err)
}

// Whatever is wrong with a file is said at once: what cannot be read, and of the rest the values; but not what only follows from
// what cannot be read.
func TestMistakesAllAtOnce(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string // the beginnings of the lines
	}{
		{"structure and values", `name: Small
artifacts: {path: /opt/misstep}
coordinators: {dir: /srv/misstep, port: 70000}
runners:
  - {name: plain, count: -2}
  - {name: plain, min: 3, max: 2, drain: long}
`, []string{
			"1: name: expected 1 to 32", "2: artifacts: unknown field, did you mean artefacts?",
			"3: coordinators.node: is needed with dir", "3: coordinators.port: expected at most 65535",
			"5: runners[0].count: expected a non-negative integer", "6: runners[1].drain: expected a duration",
			`6: runners[1].name: "plain" is the name of runners[0]`, "6: runners[1].min: expected at most max",
		}},
		{"items of lists", `transport: http
artefacts: {path: [/opt]}
coordinators:
  dir: /srv/misstep
  node: alpha
  secrets: [[a], b-c]
  environment:
    A: [b]
    PASSWORD: hush
runners: [5, {name: X, count: 1}]
`, []string{
			"1: name: expected 1 to 32", "1: transport: expected tls or plain_text", "2: artefacts.path: expected a string, got a list",
			"6: coordinators.secrets[0]: expected a string", "6: coordinators.secrets[1]: expected a name",
			"8: coordinators.environment.A: expected a string", "9: coordinators.environment.PASSWORD: looks like a secret",
			"10: runners[0]: expected the fields", "10: runners[1].name: expected 1 to 32",
		}},
		{"no file of fields", "- a\n", []string{"1: expected the fields name, region"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.file), "f.yaml")
			require.Error(t, err)
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, len(c.want), "%v", err)
			for i, want := range c.want {
				require.Contains(t, lines[i], "f.yaml:"+want)
			}
		})
	}
}

// Whatever a file holds, reading it ends with a fleet whose jobs can be made, or with an error.
func FuzzFleet(f *testing.F) {
	f.Add([]byte(small))
	for _, name := range []string{"small", "large"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "nomad", "testdata", name+".yaml"))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fleet, err := Parse(text, "f.yaml")
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for _, job := range nomad.Jobs(fleet, "sha256:"+strings.Repeat("0", 64)) {
			require.False(t, ids[*job.ID], "two jobs of one id")
			ids[*job.ID] = true
			_, err := nomad.HCL(job)
			require.NoError(t, err)
		}
	})
}
