package fleet

import (
	"cmp"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
)

func TestUnhealthy(t *testing.T) {
	stopping := serving("c", 1, 0)
	stopping.DesiredStatus = api.AllocDesiredStatusStop
	replaced := crashing("d", 1, 1)
	replaced.NextAllocation = "e"
	for name, c := range map[string]struct {
		all  []*api.AllocationListStub
		want string
	}{
		"all":  {[]*api.AllocationListStub{serving("a", 1, 0), serving("b", 1, 3)}, ""},
		"more": {[]*api.AllocationListStub{serving("a", 1, 0), serving("b", 1, 0), crashing("c", 1, 1)}, ""},
		"one crashes": {
			[]*api.AllocationListStub{serving("a", 1, 0), crashing("b", 1, 1)},
			"1 of 2 run healthily; on node-b: Task restarting in 5s",
		},
		"one is stopped": {[]*api.AllocationListStub{serving("a", 1, 0), stopping}, "1 of 2 run healthily"},
		"replaced":       {[]*api.AllocationListStub{replaced}, "0 of 2 run healthily"},
		"none":           {nil, "0 of 2 run healthily"},
	} {
		require.Equal(t, c.want, unhealthy(c.all, 2), name)
	}
	fresh := serving("a", 1, 0)
	fresh.DeploymentStatus = nil
	require.NotEmpty(t, unhealthy([]*api.AllocationListStub{fresh}, 1), "not found healthy yet")
	between := serving("a", 1, 1)
	between.TaskStates[nomad.TaskName].State = "pending"
	require.NotEmpty(t, unhealthy([]*api.AllocationListStub{between}, 1), "its task is between two starts")
}

func TestSteadiness(t *testing.T) {
	once := []*api.AllocationListStub{serving("b", 1, 0)}
	require.True(t, (&steadiness{}).holds(once), "it has never restarted")
	var s steadiness
	for _, began := range []int64{1, 7} {
		for range steadyPolls {
			require.False(t, s.holds([]*api.AllocationListStub{serving("a", began, 1), once[0]}))
		}
	}
	require.True(t, s.holds([]*api.AllocationListStub{serving("a", 7, 1), once[0]}), "its last start was seen for long")
}

func TestRepeated(t *testing.T) {
	times := func(n int) []*api.AllocationListStub { return []*api.AllocationListStub{crashing("0123456789", 1, n)} }
	require.Equal(t, "on node-0123456789: it has ended 3 times within 1m0s of its start: Exit Code: 2; "+
		"see `nomad alloc logs -stderr 01234567`", repeated(times(3), 2, nil))
	require.Empty(t, repeated(times(2), 2, nil))
	require.Empty(t, repeated(times(3), 3, nil), "of another version")
	require.Empty(t, repeated(times(3), 2, lastEvents(times(1), 100)), "one was before")
	otherwise, long := times(3), times(3)
	otherwise[0].TaskStates[nomad.TaskName].Events[4].DisplayMessage = "Exit Code: 1"
	require.Empty(t, repeated(otherwise, 2, nil))
	for _, e := range long[0].TaskStates[nomad.TaskName].Events[4:] {
		e.Time += int64(2 * time.Minute)
	}
	require.Empty(t, repeated(long, 2, nil), "the second start lasted")
}

// A successful deployment says how a job was at its time: what runs now is looked at, and what does not run on is not waited for.
func TestSettledLooksAtWhatRuns(t *testing.T) {
	log := func() (string, int) {
		return "\n1\n2\n3\n4\n\x1b[31m5\nmisstep: error: password \"nope\" refused\n", http.StatusOK
	}
	healthy := func(int) *api.AllocationListStub { return serving("0123456789", 1, 0) }
	for name, c := range map[string]struct {
		fake       *fake
		now        func(poll int) *api.AllocationListStub
		want, said string
	}{
		"healthy":              {now: healthy},
		"restarted and steady": {now: func(int) *api.AllocationListStub { return serving("a", 1, 4) }},
		"comes back": {now: func(poll int) *api.AllocationListStub {
			if poll < 9 {
				return crashing("a", 1, 1)
			}
			return serving("a", 5000, 1)
		}, said: "job small-plain: 0 of 1 run healthily; on node-a: Task restarting in 5s\n"},
		"listens at last": {
			fake: &fake{check: "failure"}, now: func(int) *api.AllocationListStub { return serving("a", 1, 1) },
			said: "job small-plain: on node-a: the check grpc says failure: connection refused\n",
		},
		"crashes again and again": {
			fake: &fake{log: log}, now: func(poll int) *api.AllocationListStub {
				return crashing("0123456789", 1, 1+min(3, poll/2))
			}, want: "job small-plain: on node-0123456789: it has ended 3 times within 1m0s of its start: Exit Code: 2; see `nomad alloc " +
				"logs -stderr 01234567`; remove the cause and run `misstep fleet up` again",
			said: "small-plain on node-0123456789: Terminated: Exit Code: 2\n  stderr: 2\n  stderr: 3\n  stderr: 4\n  stderr: ?[31m5\n" +
				"  stderr: misstep: error: password \"nope\" refused\n",
		},
		"its log is not to be read": {
			fake: &fake{deployment: api.DeploymentStatusRunning, log: func() (string, int) { return "", http.StatusForbidden }},
			now: func(poll int) *api.AllocationListStub {
				if poll == 0 {
					return crashing("0123456789", 1, 0)
				}
				return crashing("0123456789", 1, min(3, poll))
			},
			want: "; Nomad tries until ", said: "Exit Code: 2\n  `nomad alloc logs -stderr 01234567` shows why\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, polls := cmp.Or(c.fake, &fake{}), 0
			f.allocations = func() []*api.AllocationListStub {
				polls++
				if polls == 5 && f.check == "failure" {
					f.check = "success"
				}
				return []*api.AllocationListStub{c.now(polls - 1)}
			}
			if f.check == "" {
				f.check = "success"
			}
			cluster := f.open(t, small)
			cluster.Fleet.GetRunners()[0].Count = 1
			f.jobs = registered(cluster, "")
			err := cluster.settled(bounded(t), "small-plain")
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			require.Contains(t, f.said, c.said)
			require.Equal(t, c.said == "", f.said == "", f.said)
			if c.now(polls - 1).TaskStates[nomad.TaskName].Restarts > 0 && c.want == "" {
				require.Greater(t, polls, steadyPolls, "it was watched")
			}
		})
	}
}

// What Nomad would place later because it has failed is placed when `up` asks for it.
func TestRetry(t *testing.T) {
	failed, replaced := crashing("a", 1, 3), crashing("b", 1, 3)
	failed.ClientStatus, replaced.ClientStatus = api.AllocClientStatusFailed, api.AllocClientStatusFailed
	replaced.NextAllocation = "c"
	for _, c := range []struct {
		all  []*api.AllocationListStub
		want []string
	}{
		{[]*api.AllocationListStub{replaced, failed}, []string{"PUT /v1/job/small-plain/evaluate"}},
		{[]*api.AllocationListStub{replaced, serving("d", 1, 3)}, nil},
	} {
		f := &fake{allocations: func() []*api.AllocationListStub { return c.all }}
		require.NoError(t, f.open(t, small).retry(t.Context(), "small-plain"))
		require.Equal(t, c.want, f.asked)
	}
}
