package fleet

import (
	"context"
	"fmt"
	"math"

	"github.com/hashicorp/nomad/api"
)

// watch is what has been seen and said of a rollout.
type watch struct {
	*Cluster
	rollout
	said    map[string]bool
	logs    map[string]int   // how often stderr was asked for, by what was said of the end
	version *uint64          // seen last
	before  map[string]int64 // the last events of allocations that are older than their job's version
	began   map[string]int64 // the last events of all allocations when the watch began
	steady  steadiness
}

// look asks Nomad once and reports whether all is done, and why not.
func (w *watch) look(ctx context.Context) (done bool, why string, err error) {
	job, err := w.job(ctx, w.id)
	if err != nil || job == nil {
		return false, "it is not registered", err
	}
	group := job.TaskGroups[0]
	if *group.Count == 0 {
		return true, "", nil
	}
	all, err := w.allocations(ctx, w.id)
	if err != nil {
		return false, "", err
	}
	if w.began == nil {
		w.began = lastEvents(all, math.MaxUint64)
	}
	if w.version != nil && *w.version != *job.Version {
		if err := w.abandoned(ctx, w.id, *w.version, all); err != nil {
			return false, "", err
		}
	}
	if w.version == nil || *w.version != *job.Version {
		w.version, w.before = job.Version, lastEvents(all, *job.JobModifyIndex)
	}
	d, _, err := w.client.Jobs().LatestDeployment(w.id, query(ctx))
	if err != nil {
		return false, "", w.explain("ask for the deployment of job "+w.id, err)
	}
	if d == nil || d.JobVersion != *job.Version {
		why, err := w.unplaced(ctx, w.id)
		return false, why, err
	}
	switch d.Status {
	case api.DeploymentStatusSuccessful:
		return w.after(ctx, all, *group.Count)
	case api.DeploymentStatusFailed, api.DeploymentStatusCancelled:
		return false, "", failed(d, all)
	}
	return w.during(ctx, d, d.TaskGroups[*group.Name], all)
}

// during looks at a deployment that lasts.
func (w *watch) during(
	ctx context.Context, d *api.Deployment, state *api.DeploymentState, all []*api.AllocationListStub,
) (done bool, why string, err error) {
	failing := w.sayFailures(ctx, all, w.before)
	if state == nil {
		return false, "it is being placed", nil
	}
	if w.canaries && state.HealthyAllocs >= state.DesiredCanaries {
		return true, "", nil
	}
	if why := givenUp(all, d.JobVersion); w.strict && why != "" {
		return false, "", w.goBack(ctx, d, why)
	}
	until := deadline(state)
	if err := w.hopeless(all, until); err != nil {
		return false, "", err
	}
	why = fmt.Sprintf("%d of %d are healthy", state.HealthyAllocs, state.DesiredTotal)
	if w.canaries {
		why = "the first of the new version is not healthy yet"
	}
	if state.PlacedAllocs < state.DesiredTotal {
		unplaced, err := w.unplaced(ctx, w.id)
		if err != nil {
			return false, "", err
		}
		why += unplaced
	}
	line := why
	if failing && !w.strict {
		line += until
	}
	w.say("job " + w.id + ": " + line)
	return false, why + until, nil
}

// after looks at what has become of a deployment that was successful at its time.
func (w *watch) after(ctx context.Context, all []*api.AllocationListStub, count int) (done bool, why string, err error) {
	if why = unhealthy(all, count); why == "" {
		why = w.failedCheck(ctx, all)
	}
	if why == "" {
		return w.steady.holds(all), "it has restarted, and is watched", nil
	}
	w.sayFailures(ctx, all, w.began)
	if err := w.hopeless(all, ""); err != nil {
		return false, "", err
	}
	unplaced, err := w.unplaced(ctx, w.id)
	why += unplaced
	w.say("job " + w.id + ": " + why)
	return false, why, err
}

// hopeless returns an error when a task ends at its start again and again. In a strict rollout Nomad's own count decides.
func (w *watch) hopeless(all []*api.AllocationListStub, until string) error {
	if why := repeated(all, *w.version, w.began); why != "" && !w.strict {
		return fmt.Errorf("job %s: %s%s; remove the cause and run `misstep fleet up` again", w.id, why, until)
	}
	return nil
}

// say says a line unless it was said.
func (w *watch) say(line string) {
	if !w.said[line] {
		w.said[line] = true
		w.Say("%s", line)
	}
}

// sayFailures says what has failed after the given times, by allocation, and reports whether something has.
func (w *watch) sayFailures(ctx context.Context, all []*api.AllocationListStub, since map[string]int64) bool {
	found := failures(all, *w.version, since)
	for _, f := range found {
		w.say(f.line)
		if f.ended && w.logs[f.line] < logTries {
			w.logs[f.line]++
			if w.sayStderr(ctx, f.allocation) {
				w.logs[f.line] = logTries
			}
		}
	}
	return len(found) > 0
}
