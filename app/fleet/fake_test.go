package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
)

// fake is a Nomad that has one deployment for all jobs of a fleet, successful unless it is another, and answers about them what a
// test wants. Its fields belong to the server while a command runs.
type fake struct {
	deployment  string
	jobs        map[string]*api.Job // by id; missing ones are not registered
	versions    []*api.Job          // of each job
	allocations func() []*api.AllocationListStub
	nodes       []*api.NodeListStub
	variables   map[string]*api.Variable // by path
	log         func() (string, int)     // of each task, with the status
	check       string                   // status of each task's check

	mutex sync.Mutex
	asked []string // requests that change something
	said  string
}

// open starts the server; its cluster has the fleet.
func (f *fake) open(t *testing.T, fleet string) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		if r.Method != http.MethodGet {
			f.asked = append(f.asked, r.Method+" "+r.URL.Path)
		}
		if strings.HasPrefix(r.URL.Path, "/v1/client/fs/logs/") {
			text, status := f.log()
			w.WriteHeader(status)
			fmt.Fprint(w, text)
			return
		}
		answer := f.answer(t, r)
		if answer == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	t.Cleanup(server.Close)
	spec, err := Parse([]byte(fleet), "f.yaml")
	require.NoError(t, err)
	c, err := Open(spec, server.URL, func(format string, a ...any) { f.said += fmt.Sprintf(format+"\n", a...) })
	require.NoError(t, err)
	t.Cleanup(c.Close)
	c.Poll = time.Millisecond
	return c
}

func (f *fake) answer(t *testing.T, r *http.Request) any {
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	if name, is := strings.CutPrefix(path, "var/"); is {
		if r.Method == http.MethodPut {
			v := &api.Variable{}
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.NoError(t, json.Unmarshal(body, v))
			f.variables[name] = v
		}
		if v := f.variables[name]; v != nil {
			return v
		}
		return nil
	}
	rest, ofJob := strings.CutPrefix(path, "job/")
	id, what, _ := strings.Cut(rest, "/")
	job, sweep := f.jobs[id], strings.Contains(id, "-sweep-")
	switch {
	case sweep && what == "allocations":
		return []*api.AllocationListStub{}
	case sweep && what == "" && r.Method == http.MethodGet:
		return &api.Job{Meta: map[string]string{nomad.MetaFleet: "small"}}
	case what == "plan":
		return &api.JobPlanResponse{Diff: &api.JobDiff{Type: "None", ID: id}}
	case path == "jobs" && r.Method == http.MethodGet:
		return []*api.JobListStub{}
	case r.Method != http.MethodGet:
		return &api.JobRegisterResponse{}
	case path == "nodes":
		return f.nodes
	case strings.HasSuffix(path, "/checks"):
		return api.AllocCheckStatuses{"c": {Check: "grpc", Status: f.check, Output: "connection refused"}}
	case !ofJob:
		return nil
	case what == "allocations":
		all := f.allocations()
		for _, a := range all {
			a.JobID = id
		}
		return all
	case what == "evaluations":
		return []*api.Evaluation{{Status: api.EvalStatusComplete}}
	case what == "versions":
		return map[string]any{"Versions": f.versions}
	case what == "deployment":
		status := f.deployment
		if status == "" {
			status = api.DeploymentStatusSuccessful
		}
		return &api.Deployment{ID: "d", JobID: id, Status: status, JobVersion: 2, TaskGroups: map[string]*api.DeploymentState{
			*job.TaskGroups[0].Name: {AutoRevert: true, DesiredTotal: 1, PlacedAllocs: 1, RequireProgressBy: time.Unix(1e9, 0)},
		}}
	case what == "" && job != nil:
		return job
	}
	return nil
}

// bounded ends what would wait for ever.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// registered are the jobs of a cluster's fleet as Nomad has them, with a package.
func registered(c *Cluster, digest string) map[string]*api.Job {
	all := map[string]*api.Job{}
	for _, job := range nomad.Jobs(c.Fleet, digest) {
		job.Version, job.JobModifyIndex, job.Stable = new(uint64(2)), new(uint64(10)), new(true)
		all[*job.ID] = job
	}
	return all
}

// serving is a healthy allocation whose task started at a time, after so many restarts.
func serving(id string, began int64, restarts uint64) *api.AllocationListStub {
	a := allocation("node-"+id, api.AllocClientStatusRunning, 2, event(began, api.TaskStarted, "Task started by client"))
	a.ID, a.DesiredStatus, a.DeploymentStatus = id, api.AllocDesiredStatusRun, &api.AllocDeploymentStatus{Healthy: new(true)}
	state := a.TaskStates[nomad.TaskName]
	state.State, state.StartedAt, state.Restarts = "running", time.Unix(began, 0), restarts
	return a
}

// crashing is an allocation whose task has started and ended so many times, the first time at the given one.
func crashing(id string, began int64, times int) *api.AllocationListStub {
	a := serving(id, began, uint64(times))
	state := a.TaskStates[nomad.TaskName]
	state.State, state.Events, a.ClientStatus = "pending", nil, api.AllocClientStatusPending
	for i := range int64(times) {
		state.Events = append(state.Events, event(began+i*1000, api.TaskStarted, "Task started by client"),
			event(began+i*1000+1, api.TaskTerminated, "Exit Code: 2"),
			event(began+i*1000+2, api.TaskRestarting, "Task restarting in 5s"))
	}
	return a
}
