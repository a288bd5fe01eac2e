package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/nomad/api"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/app"
	"misstep/app/station"
	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// longestPause bounds the time between two decisions that fail.
const longestPause = 5 * time.Minute

// Auto is how groups with bounds follow the backlog.
type Auto struct {
	// Every is the time between two decisions.
	Every time.Duration
	// PerSlot is the number of trials for which a slot is wanted.
	PerSlot int
	// Calm is how long less must have been wanted before a group shrinks.
	Calm time.Duration
}

// follower scales the groups of a fleet.
type follower struct {
	*Cluster
	groups  []Group
	perSlot int
	calm    Calm
	said    map[string]string // what was said last, by what it was about
}

// Follow scales the groups that have bounds until the context ends. What fails and can heal is said once and tried again, with
// pauses that grow; a caller who is refused must be changed by somebody, and is an error at once.
func (c *Cluster) Follow(ctx context.Context, a Auto) error {
	f := &follower{Cluster: c, groups: Groups(c.Fleet), perSlot: a.PerSlot, calm: Calm{For: a.Calm}, said: map[string]string{}}
	if len(f.groups) == 0 {
		return errors.New("no group of the fleet file has min and max between which the backlog could decide")
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = a.Every, max(a.Every, longestPause)
	for {
		pause, problem := a.Every, ""
		err := f.decide(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case refused(err):
			return err
		case err != nil:
			pause, problem = pauses.NextBackOff(), app.Message(err)+"; trying again until it works"
		default:
			pauses.Reset()
		}
		f.once("", problem)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// refused reports whether a coordinator or Nomad has refused the caller, or would.
func refused(err error) bool {
	if errors.Is(err, errNoAuthority) {
		return true
	}
	if code := status.Code(err); code == codes.Unauthenticated || code == codes.PermissionDenied {
		return true
	}
	return forbidden(err)
}

// once says a line unless it was the last one about this; an empty one says that there is nothing to say any more.
func (f *follower) once(about, line string) {
	if line != "" && line != f.said[about] {
		f.Say("%s", line)
	}
	f.said[about] = line
}

// decide scales each group to what the backlog asks for.
func (f *follower) decide(ctx context.Context) error {
	var backlog Backlog
	err := f.ask(ctx, func(st *station.Station) error {
		all, err := running(ctx, st)
		backlog = backlogOf(all)
		return err
	})
	if err != nil {
		return fmt.Errorf("ask for the backlog: %w", err)
	}
	jobs := map[string]*api.Job{}
	for _, g := range f.groups {
		job, err := f.job(ctx, nomad.RunnerJob(f.Fleet, g.Name))
		if err != nil {
			return err
		}
		if stopped(job) {
			return errors.New("the fleet is not running: `misstep fleet up` starts it")
		}
		jobs[g.Name] = job
	}
	full := map[string]string{} // why groups have no more room
	wanted, unmet, err := Place(f.groups, backlog, f.perSlot, func(group string, count int) (int, error) {
		n, why, err := f.room(ctx, jobs[group], count)
		if why != "" {
			full[group] = fmt.Sprintf("group %s: no more than %d runners: %s; other groups that can do it are used", group, n, why)
		}
		return n, err
	})
	if err != nil {
		return err
	}
	for _, need := range slices.Sorted(maps.Keys(backlog)) {
		line := ""
		if unmet[need] > 0 && !slices.ContainsFunc(f.groups, func(g Group) bool { return need.MetBy(texts(g.Offers)) }) {
			line = fmt.Sprintf("no group with bounds offers %s, which trials need", need)
		}
		f.once("need "+string(need), line)
	}
	for _, g := range f.groups {
		f.once("group "+g.Name, full[g.Name])
		now := *jobs[g.Name].TaskGroups[0].Count
		if n := f.calm.Settle(g.Name, now, wanted[g.Name], time.Now()); n != now {
			if err := f.scale(ctx, g.Name, n, "misstep fleet scale --auto"); err != nil {
				return err
			}
		}
	}
	return nil
}

// room asks Nomad's plan how many of count allocations of a job have a node, and why the others have none.
func (c *Cluster) room(ctx context.Context, job *api.Job, count int) (n int, why string, err error) {
	p, _, err := c.client.Jobs().Plan(withCount(job, count), false, writes(ctx))
	if err != nil {
		return 0, "", c.explain("plan job "+*job.ID, err)
	}
	failed := p.FailedTGAllocs[*job.TaskGroups[0].Name]
	if failed == nil {
		return count, "", nil
	}
	return max(0, count-1-failed.CoalescedFailures), nomad.Unplaced(failed), nil
}

// backlogOf adds up what campaigns have left.
func backlogOf(all []*misstepv1.Backlog) Backlog {
	b := Backlog{}
	for _, c := range all {
		for need, n := range c.GetLeft() {
			b[recipe.Capability(need)] += n
		}
	}
	return b
}
