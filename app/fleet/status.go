package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

// Status is how a fleet is.
type Status struct {
	// Coordinators are the addresses of those that Nomad finds healthy.
	Coordinators []string `json:"coordinators"`
	Jobs         []Job    `json:"jobs"`
	// Unlisted are the ids of jobs that the fleet file does not have.
	Unlisted []string `json:"unlisted,omitempty"`
}

// Job is how one of a fleet's jobs is.
type Job struct {
	ID string `json:"id"`
	// State is Nomad's word for the job, "missing" if there is none.
	State string `json:"state"`
	// Package that its newest version runs.
	Package string `json:"package,omitempty"`
	Wanted  int    `json:"wanted"`
	// Running allocations of any version, without those that are about to.
	Running int `json:"running"`
	// Deployment says how far the newest version is.
	Deployment  string       `json:"deployment,omitempty"`
	Allocations []Allocation `json:"allocations"`
}

// Allocation is one coordinator or runner, running or about to be, or the last one that failed.
type Allocation struct {
	ID      string `json:"id"`
	Node    string `json:"node"`
	State   string `json:"state"`
	Version uint64 `json:"version"`
	// Since is when it began to run, or ended; before that, when it was placed.
	Since time.Time `json:"since"`
	// Last is what Nomad said of it last.
	Last string `json:"last,omitempty"`
}

// Missing is the state of a job that is not registered.
const Missing = "missing"

// Status asks how the fleet is.
func (c *Cluster) Status(ctx context.Context) (*Status, error) {
	s := &Status{Coordinators: []string{}}
	var err error
	if s.Coordinators, err = c.Coordinators(ctx); err != nil {
		return nil, err
	}
	for _, job := range nomad.Jobs(c.Fleet, "") {
		one, err := c.status(ctx, *job.ID)
		if err != nil {
			return nil, err
		}
		s.Jobs = append(s.Jobs, one)
	}
	if s.Unlisted, err = c.unlisted(ctx); err != nil {
		return nil, err
	}
	for _, id := range s.Unlisted {
		one, err := c.status(ctx, id)
		if err != nil {
			return nil, err
		}
		s.Jobs = append(s.Jobs, one)
	}
	return s, nil
}

func (c *Cluster) status(ctx context.Context, id string) (Job, error) {
	out := Job{ID: id, State: Missing, Allocations: []Allocation{}}
	job, err := c.job(ctx, id)
	if err != nil {
		return out, err
	}
	if job != nil {
		out.State, out.Package, out.Wanted = *job.Status, job.Meta[nomad.MetaPackage], *job.TaskGroups[0].Count
		d, _, err := c.client.Jobs().LatestDeployment(id, query(ctx))
		if err != nil {
			return out, c.explain("ask for the deployment of job "+id, err)
		}
		if d != nil && d.JobVersion == *job.Version {
			out.Deployment = d.StatusDescription
		}
	}
	all, err := c.allocations(ctx, id)
	if err != nil {
		return out, err
	}
	failed := false
	for _, a := range all {
		if !live(a) && (failed || a.ClientStatus != "failed" && a.ClientStatus != "lost") {
			continue
		}
		failed = failed || !live(a)
		if a.ClientStatus == api.AllocClientStatusRunning {
			out.Running++
		}
		out.Allocations = append(out.Allocations, Allocation{
			ID: a.ID, Node: a.NodeName, State: a.ClientStatus, Version: a.JobVersion, Since: since(a),
			Last: last(a),
		})
	}
	return out, nil
}

// since is when an allocation got into its state.
func since(a *api.AllocationListStub) time.Time {
	switch state := a.TaskStates[nomad.TaskName]; {
	case state == nil || state.StartedAt.IsZero() && state.FinishedAt.IsZero(): // it has not run
		return time.Unix(0, a.CreateTime)
	case !live(a) && !state.FinishedAt.IsZero():
		return state.FinishedAt
	default:
		return state.StartedAt
	}
}

// Coordinators returns the addresses of the coordinators that Nomad knows, HOST:PORT.
func (c *Cluster) Coordinators(ctx context.Context) ([]string, error) {
	all, _, err := c.client.Services().Get(nomad.CoordinatorJob(c.Fleet), query(ctx))
	if err != nil && !notFound(err) {
		return nil, c.explain("find the coordinators", err)
	}
	addresses := []string{}
	for _, s := range all {
		addresses = append(addresses, fmt.Sprintf("%s:%d", s.Address, s.Port))
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), nil
}
