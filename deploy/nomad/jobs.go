package nomad

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	misstepv1 "misstep/proto/misstep/v1"
)

// Keys of a job's metadata.
const (
	// MetaFleet has the name of the fleet that a job belongs to.
	MetaFleet = "misstep_fleet"
	// MetaPackage has the digest of the package that a job's tasks run, "installed" where the nodes have one.
	MetaPackage = "misstep_package"
	// MetaAgain has the id of the failed deployment after which a job was started again: to Nomad it is another version then.
	MetaAgain = "misstep_again"
)

// Installed stands for a package where the fleet names a folder of the nodes.
const Installed = "installed"

// TaskName is the name of the one task of each group.
const TaskName = "misstep"

// taskFolder is where a task finds the package, relative to its folder.
const taskFolder = "local/misstep"

// Jobs returns the fleet's jobs: that of the coordinators, then those of the groups of runners. The fleet must be valid. digest is
// the package's ("sha256:" and 64 hexadecimal digits); it is not used where the fleet names a folder of the nodes.
func Jobs(f *misstepv1.Fleet, digest string) []*api.Job {
	if f.GetArtefacts().GetPath() != "" {
		digest = Installed
	}
	m := maker{f, digest}
	all := []*api.Job{m.coordinators()}
	for _, g := range f.GetRunners() {
		all = append(all, m.runners(g))
	}
	return all
}

// PackageName is the name of a package's file below the fleet's URL.
func PackageName(digest string) string {
	return "misstep-" + strings.TrimPrefix(digest, "sha256:") + ".tar.gz"
}

type maker struct {
	fleet  *misstepv1.Fleet
	digest string
}

// job makes a job with one group of one task.
func (m maker) job(id, kind string, count int, t task, group *api.TaskGroup, work *api.Task) *api.Job {
	f := m.fleet
	job := &api.Job{
		ID: &id, Name: &id, Type: &kind, Priority: new(cmp.Or(int(f.GetPriority()), defaultPriority)),
		Datacenters: f.GetDatacentres(),
		Meta:        map[string]string{MetaFleet: f.GetName(), MetaPackage: m.digest},
		Constraints: []*api.Constraint{
			api.NewConstraint("${attr.kernel.name}", "=", "linux"),
			api.NewConstraint("${attr.nomad.version}", "semver", ">= 1.4.0-0"),
		},
		TaskGroups: []*api.TaskGroup{group},
	}
	if len(job.Datacenters) == 0 {
		job.Datacenters = []string{"*"}
	}
	if f.GetRegion() != "" {
		job.Region = new(f.GetRegion())
	}
	if f.GetNamespace() != "" {
		job.Namespace = new(f.GetNamespace())
	}
	group.Count = &count
	group.EphemeralDisk = &api.EphemeralDisk{SizeMB: new(int(cmp.Or(t.GetResources().GetDisk(), defaultDisk)))}
	for _, c := range t.GetConstraints() {
		group.Constraints = append(group.Constraints,
			api.NewConstraint(c.GetAttribute(), cmp.Or(c.GetOperator(), "="), c.GetValue()))
	}
	m.fill(work, id, t)
	group.Tasks = []*api.Task{work}
	return job
}

// fill completes a task: what it runs, what it gets, and where its secrets are from.
func (m maker) fill(work *api.Task, job string, t task) {
	work.Name, work.Driver, work.User = TaskName, cmp.Or(t.GetDriver(), RawExec), t.GetUser()
	command := taskFolder + "/misstep"
	if dir := m.fleet.GetArtefacts().GetPath(); dir != "" {
		command = dir + "/misstep"
	} else {
		work.Artifacts = []*api.TaskArtifact{{
			GetterSource:  new(strings.TrimSuffix(m.fleet.GetArtefacts().GetUrl(), "/") + "/" + PackageName(m.digest)),
			GetterOptions: map[string]string{"checksum": m.digest},
			RelativeDest:  new(taskFolder),
		}}
	}
	args, _ := work.Config["args"].([]string)
	work.Config = map[string]any{"command": command, "args": append(args, t.GetArguments()...)}
	if work.Env == nil {
		work.Env = map[string]string{}
	}
	maps.Copy(work.Env, t.GetEnvironment())
	work.KillSignal = "SIGTERM"
	work.LogConfig = &api.LogConfig{MaxFiles: new(5), MaxFileSizeMB: new(10)}
	work.Templates = append(work.Templates, secretTemplates(VariablePath(job), t)...)
}

// secretTemplates make a task's secrets of the items of a Nomad variable, whose path they name: values are never in a job.
func secretTemplates(path string, t task) (all []*api.Template) {
	if names := slices.Sorted(slices.Values(t.GetSecrets())); len(names) > 0 {
		var text strings.Builder
		for _, name := range names {
			text.WriteString(name + `={{ with nomadVar "` + path + `" }}{{ (index . "` + name + `").Value | toJSON }}{{ end }}` + "\n")
		}
		// A changed secret restarts the task: a runner drains first.
		all = append(all, &api.Template{
			EmbeddedTmpl: new(text.String()), DestPath: new("${NOMAD_SECRETS_DIR}/environment"), Envvars: new(true),
			ChangeMode: new("restart"), Splay: new(time.Minute), Perms: new("0600"),
		})
	}
	return append(all, fileTemplates(path, t.GetSecretFiles())...)
}

// fileTemplates make files of items of a Nomad variable. Certificates and keys are read again by those who use them.
func fileTemplates(path string, names []string) (all []*api.Template) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		text := `{{ with nomadVar "` + path + `" }}{{ index . "` + name + `" }}{{ end }}`
		all = append(all, &api.Template{
			EmbeddedTmpl: &text, DestPath: new("${NOMAD_SECRETS_DIR}/" + name), ChangeMode: new("noop"), Perms: new("0600"),
		})
	}
	return all
}

func resources(r *misstepv1.FleetResources, cpu, memory int) *api.Resources {
	return &api.Resources{CPU: new(cmp.Or(int(r.GetCpu()), cpu)), MemoryMB: new(cmp.Or(int(r.GetMemory()), memory))}
}

// classes are the constraints on a node's class and architecture; an empty one is none.
func classes(class, arch string) (all []*api.Constraint) {
	if arch != "" {
		all = append(all, api.NewConstraint("${attr.cpu.arch}", "=", arch))
	}
	if class != "" {
		all = append(all, api.NewConstraint("${node.class}", "=", class))
	}
	return all
}

var distinctHosts = api.NewConstraint("", "distinct_hosts", "true")

func itoa(n int) string { return strconv.Itoa(n) }
