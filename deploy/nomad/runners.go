package nomad

import (
	"cmp"

	"github.com/hashicorp/nomad/api"

	misstepv1 "misstep/proto/misstep/v1"
)

// coordinatorList is the file with the coordinators' addresses, a line each, which a runner reads again when Nomad has changed it.
const coordinatorList = "local/coordinators"

// offers says what a runner of a group with a capability offers beyond running JVMs: the values of `misstep runner --offer`.
var offers = map[string][]string{
	Plain:    {"none"},
	SchedExt: {"sched_ext"},
	VM:       {"vm"},
}

// runners is the job of a group of runners.
func (m maker) runners(g *misstepv1.FleetRunners) *api.Job {
	work := Work(m.fleet)
	if g.GetDriver() == Exec { // which shows the task nothing else; what it starts ends with it
		work = "${NOMAD_ALLOC_DIR}"
	}
	args := []string{
		"runner", "--home", work + "/home", "--coordinator-list", coordinatorList, "--slots", itoa(Slots(g)),
		"--scratch", work + "/trials", "--drain", Drain(g).String(),
	}
	for _, offer := range offers[Capability(g)] {
		args = append(args, "--offer", offer)
	}
	group := &api.TaskGroup{
		Name:        new(g.GetName()),
		Constraints: classes(g.GetNodeClass(), cmp.Or(g.GetArch(), "amd64")),
		// A node that is lost should take few runners with it.
		Spreads:          []*api.Spread{{Attribute: "${node.unique.id}", Weight: new(int8(100))}},
		Update:           update("task_states"),
		Migrate:          migrate("task_states"),
		RestartPolicy:    restart(),
		ReschedulePolicy: reschedule(),
	}
	if Capability(g) == SchedExt {
		// The scheduler is for the whole machine. Package runner/perturb has a lock on the host besides, for runners of other
		// origin.
		group.Constraints = append(group.Constraints, distinctHosts,
			api.NewConstraint("${attr.kernel.version}", "regexp", kernelRE(schedExtKernel)))
	}
	task := &api.Task{
		Config:      map[string]any{"args": args},
		Resources:   resources(g.GetResources(), runnerCPU*Slots(g), runnerMemory*Slots(g)),
		KillTimeout: new(KillTimeout(g)),
		Templates: []*api.Template{{
			EmbeddedTmpl: new(`{{ range nomadService "` + CoordinatorJob(m.fleet) + `" }}{{ .Address }}:{{ .Port }}
{{ end }}`),
			DestPath: new(coordinatorList), ChangeMode: new("noop"),
		}},
	}
	m.transport(task, RunnerJob(m.fleet, g.GetName()), runnerTLS)
	return m.job(RunnerJob(m.fleet, g.GetName()), api.JobTypeService, Count(g), g, group, task)
}
