package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"misstep/agent"
	"misstep/bench/trial"
	"misstep/internal/hserr"
	"misstep/recipe"
)

const (
	runLimit = 2 * time.Minute // far longer than a run takes on a busy machine
	interval = 10 * time.Microsecond
)

// presets are used by the runs in turn; the empty one has no flags.
var presets = []string{"", "c1", "deopt-stress", "int", "serial", "c2", "zgc", "safepoint-stress", "small-code-cache", "no-inline"}

// trouble describes a run that failed.
type trouble struct {
	JDK, Preset, Dir, What string
	// Walker: it happened inside AsyncGetCallTrace or GetStackTrace, which Misstep looks for. Anything else may be caused by the
	// agent.
	Walker bool
}

// summary is the summary of all runs.
type summary struct {
	Runs                    int
	Sent, Answered, Entries uint64
	// ByJDK counts the successful runs.
	ByJDK    map[string]int
	Troubles []trouble

	mutex sync.Mutex
}

func (s *summary) ours() int {
	n := 0
	for _, t := range s.Troubles {
		if !t.Walker {
			n++
		}
	}
	return n
}

// sweep makes n runs below dir, or as many as possible until ctx ends, over all JDKs and presets.
func sweep(ctx context.Context, root, dir string, n int) (*summary, error) {
	s := &summary{ByJDK: map[string]int{}}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for slot := range slots() {
		bed, err := trial.Open(root, filepath.Join(dir, fmt.Sprint(slot))) // a bed supports one run at a time
		if err != nil {
			return nil, err
		}
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := s.one(ctx, bed, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return s, group.Wait()
}

// optionsOf returns the agent's options for a run: in every other round of presets the sampler sends bursts of signals, and some
// begin brackets.
func optionsOf(i int) *agent.Options {
	o := &agent.Options{
		Seed: uint64(i), Ratio: 1, Interval: interval, Jitter: 0.9, Liveness: 10 * time.Millisecond,
		Checks: map[string]float64{recipe.GstAsgct: 0.01, recipe.ShadowGst: 0.01, recipe.AsgctShadow: 1, recipe.Liveness: 1},
	}
	if i/len(presets)%2 == 1 {
		o.Burst, o.Reference = 2, "trace:0.01"
		o.Checks[recipe.AsgctGstBracket], o.Checks[recipe.Edges] = 0.5, 0.1
	}
	return o
}

func (s *summary) one(ctx context.Context, bed *trial.Bed, i int) error {
	// One extra step for each round through the JDKs, so that every JDK is combined with every preset.
	entry := bed.JDKs[i%len(bed.JDKs)]
	name := presets[(i+i/len(bed.JDKs))%len(presets)]
	flags, err := bed.Flags(ctx, entry, name)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	r, err := bed.Run(limited, trial.Spec{
		JDK: entry, Workload: "churn", Arguments: []string{"40"}, Repetitions: 1, Flags: flags, Agent: optionsOf(i),
	}, nil)
	if ctx.Err() != nil { // interrupted at the end of the budget: neither a success nor a failure
		return nil
	}
	if err != nil {
		return err
	}
	t := judge(r, limited.Err() != nil)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.Runs++
	s.Sent += r.Status.Sent
	s.Answered += r.Status.Answered
	s.Entries += r.Check(recipe.GstAsgct).Total + r.Check(recipe.ShadowGst).Total
	if t == nil {
		s.ByJDK[entry.Name]++
		return os.RemoveAll(r.Dir)
	}
	t.JDK, t.Preset, t.Dir = entry.Name, name, r.Dir
	s.Troubles = append(s.Troubles, *t)
	return nil
}

// judge returns what was wrong with a run, nil if nothing was.
func judge(r trial.Result, hung bool) *trouble {
	if hung {
		if walk := r.HungWalk(); walk != "" {
			return &trouble{What: walk, Walker: true}
		}
		return &trouble{What: fmt.Sprintf("still running after %v: no thread was in a walk", runLimit)}
	}
	if file := r.ErrorFile(); file != "" {
		return crash(file, r)
	}
	if r.Failure != "" {
		return &trouble{What: r.Failure}
	}
	if err := accounts(r.Status); err != nil {
		return &trouble{What: err.Error()}
	}
	return nil
}

// crash determines from the error file and the flight record whether the crashed thread was in a walk and in the JVM's code.
func crash(file string, r trial.Result) *trouble {
	f, err := os.Open(file)
	if err != nil {
		return &trouble{What: err.Error()}
	}
	defer f.Close()
	report, err := hserr.Parse(f)
	if err != nil {
		return &trouble{What: fmt.Sprintf("crash: %v", err)}
	}
	frame := report.Crash.GetProblematicFrame()
	t := &trouble{What: fmt.Sprintf("crash: %s in %s", report.Crash.GetError(), frame)}
	for _, thread := range r.Status.Threads {
		if int64(thread.TID) == report.TID && thread.Phase.Walks() && !strings.Contains(frame, agent.LibraryName) {
			t.Walker = true
			t.What += fmt.Sprintf(", phase %s", thread.Phase)
		}
	}
	return t
}

// accounts checks that the agent ended normally and that every check and signal has exactly one verdict.
func accounts(s agent.Status) error {
	if !s.Started || !s.Ended {
		return fmt.Errorf("the agent did not end normally: started %t, ended %t", s.Started, s.Ended)
	}
	var err error
	signals := s.Seconds
	for _, c := range s.Checks {
		if c.Total != c.Verdicts() {
			err = errors.Join(err, fmt.Errorf("%s: %d verdicts of %d checks", c.Name, c.Verdicts(), c.Total))
		}
		if c.Name == recipe.AsgctShadow || c.Name == recipe.AsgctGstBracket {
			signals += c.Total
		}
	}
	if signals != s.Sent {
		err = errors.Join(err, fmt.Errorf("%d verdicts of %d signals", signals, s.Sent))
	}
	if s.Delivered > s.Sent || s.Answered > s.Delivered {
		err = errors.Join(err, fmt.Errorf("%d signals sent, %d delivered, %d answered", s.Sent, s.Delivered, s.Answered))
	}
	return err
}
