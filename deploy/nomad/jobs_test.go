package nomad

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"

	misstepv1 "misstep/proto/misstep/v1"
)

var rewrite = flag.Bool("update", false, "write testdata/*.hcl and *.json")

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func load(t *testing.T, name string) *misstepv1.Fleet {
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal(text, &fields))
	text, err = json.Marshal(fields)
	require.NoError(t, err)
	f := &misstepv1.Fleet{}
	require.NoError(t, protojson.Unmarshal(text, f))
	require.Empty(t, Validate(f))
	return f
}

// The jobs of two fleets, as HCL and as the JSON of Nomad's API. -update writes them.
func TestJobs(t *testing.T) {
	for _, name := range []string{"small", "large"} {
		var hcl strings.Builder
		jobs := Jobs(load(t, name), digest)
		for _, job := range jobs {
			text, err := HCL(job)
			require.NoError(t, err)
			hcl.WriteString(text + "\n")
		}
		text, err := json.MarshalIndent(jobs, "", "  ")
		require.NoError(t, err)
		hold(t, name+".hcl", hcl.String())
		hold(t, name+".json", string(text)+"\n")
	}
}

func hold(t *testing.T, name, got string) {
	path := filepath.Join("testdata", name)
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s: go test ./deploy/nomad -run TestJobs -update", name)
}

func taskOf(job *api.Job) *api.Task { return job.TaskGroups[0].Tasks[0] }

func constraints(job *api.Job) (all []string) {
	for _, c := range job.TaskGroups[0].Constraints {
		all = append(all, strings.TrimSpace(c.LTarget+" "+c.Operand+" "+c.RTarget))
	}
	return all
}

func TestRunnersDrainBeforeTheyAreKilled(t *testing.T) {
	f := load(t, "large")
	for i, job := range Jobs(f, digest)[1:] {
		task := taskOf(job)
		require.Greater(t, *task.KillTimeout, Drain(f.GetRunners()[i])+5*time.Second)
		args := task.Config["args"].([]string)
		require.Equal(t, Drain(f.GetRunners()[i]).String(), args[slices.Index(args, "--drain")+1])
		require.Equal(t, "SIGTERM", task.KillSignal, "which drains; Nomad's default does not")
	}
	require.LessOrEqual(t, KillTimeout(&misstepv1.FleetRunners{}), MaxKillTimeout, "a fleet's default needs no setting of Nomad's")
}

func TestPlacement(t *testing.T) {
	jobs := Jobs(load(t, "large"), digest)
	require.Equal(t, []string{"${node.class} = stable", "distinct_hosts true"}, constraints(jobs[0]))
	require.Equal(t, []string{"${attr.cpu.arch} = amd64", "${meta.rack} regexp ^r[0-9]+$"}, constraints(jobs[1]))
	require.Equal(t, []string{
		"${attr.cpu.arch} = amd64", "${node.class} = perturb", "distinct_hosts true",
		"${attr.kernel.version} regexp " + kernelRE(schedExtKernel),
	}, constraints(jobs[2]))
	require.Equal(t, []string{"${attr.cpu.arch} = amd64", "${node.class} = kvm"}, constraints(jobs[3]))
	require.Contains(t, constraints(Jobs(load(t, "small"), digest)[0]), "${node.unique.name} = alpha")
}

// What travels is named by its digest, which Nomad verifies.
func TestArtefact(t *testing.T) {
	for _, job := range Jobs(load(t, "large"), digest) {
		a := taskOf(job).Artifacts[0]
		require.Equal(t, "https://files.example.org/misstep/misstep-"+digest[len("sha256:"):]+".tar.gz", *a.GetterSource)
		require.Equal(t, digest, a.GetterOptions["checksum"])
		require.Equal(t, digest, job.Meta[MetaPackage])
	}
	for _, job := range Jobs(load(t, "small"), digest) {
		require.Empty(t, taskOf(job).Artifacts)
		require.Equal(t, "/opt/misstep/misstep", taskOf(job).Config["command"])
		require.Equal(t, Installed, job.Meta[MetaPackage])
	}
}

// Each secret is taken from the job's own variable; a value cannot get into a job, since a fleet has none.
func TestSecrets(t *testing.T) {
	f := load(t, "large")
	values := regexp.MustCompile(`(?i)(password|secret_access_key|token)"?\s*[=:]\s*[^{\s\\"]`)
	for i, job := range Jobs(f, digest) {
		text, err := HCL(job)
		require.NoError(t, err)
		require.NotRegexp(t, values, text)
		var secrets []string
		require.Contains(t, taskOf(job).Env, []string{"MISSTEP_COORDINATOR_TLS_CERT", "MISSTEP_TLS_CERT"}[min(i, 1)])
		if i == 0 {
			secrets = slices.Concat(f.GetCoordinators().GetSecrets(), f.GetCoordinators().GetSecretFiles())
		} else {
			secrets = f.GetRunners()[i-1].GetSecrets()
		}
		secrets = append(secrets, TransportFiles(f)...)
		var templates strings.Builder
		for _, tmpl := range taskOf(job).Templates {
			if strings.Contains(*tmpl.DestPath, "SECRETS_DIR") {
				require.Equal(t, "0600", *tmpl.Perms)
				templates.WriteString(*tmpl.EmbeddedTmpl)
			}
		}
		for _, s := range secrets {
			require.Contains(t, templates.String(), `nomadVar "nomad/jobs/`+*job.ID+`" }}{{`)
			require.Contains(t, templates.String(), `index . "`+s+`"`)
		}
	}
	plain := Jobs(load(t, "small"), digest)
	require.Equal(t, map[string]string{"MISSTEP_PLAIN_TEXT_NETWORK": "true"}, taskOf(plain[0]).Env, "it must be asked for")
	require.Empty(t, Sweep(f, digest).TaskGroups[0].Tasks[0].Templates, "it calls nobody")
	require.Regexp(t, values, "PGPASSWORD=hush")
	require.Regexp(t, values, `"AWS_SECRET_ACCESS_KEY": hush`)
}

func TestKernels(t *testing.T) {
	re := regexp.MustCompile(kernelRE([2]int{7, 2}))
	for _, release := range []string{"7.2.0", "7.2", "7.2.0-rc3+", "7.2.1-1-amd64", "7.10.0", "7.2.0-5.el11.x86_64", "8.0.0", "10.1.2", "12.0"} {
		require.True(t, re.MatchString(release), release)
	}
	for _, release := range []string{"7.1.9", "7.1", "6.18.44-fc", "6.20.0", "5.14.0-427.el9.x86_64", "7", "", "70", "77x.2"} {
		require.False(t, re.MatchString(release), release)
	}
	for n := range 100 {
		numbers := regexp.MustCompile("^(" + atLeast(n) + ")$")
		for m := range 1200 {
			require.Equal(t, m >= n, numbers.MatchString(itoa(m)), "%d of %d", m, n)
		}
	}
}
