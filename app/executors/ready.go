package executors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"misstep/app/local"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/jvm"
)

const (
	// minScratch in MiB must be free for a runner to ask for work: what one trial may write unless its recipe sets another limit.
	minScratch = 512
	// startsValid is how long a JVM that has started proves that JVMs start, unless a trial fails because of the infrastructure.
	startsValid = 10 * time.Minute
)

// requirements are what every trial of real JVMs needs of this machine, cheap checks first.
func requirements(i local.Installation, c RunnerConfig, e *jvm.Executor) []runner.Requirement {
	used := &usedJDK{}
	e.JDK = used.remember(e.JDK)
	return []runner.Requirement{
		runner.Space("scratch space", c.Scratch, minScratch),
		runner.Files("agent", e.Agent.Library, e.Agent.Jar),
		{Name: "control groups", Check: func(context.Context) error { return e.CheckCgroups() }},
		{Name: "corpus of JDKs, workloads and evidence", Check: func(ctx context.Context) error {
			_, err := c.Station.Blobs.Missing(ctx, []corpus.Digest{corpus.DigestBytes(nil)})
			return err
		}},
		{Name: "JVM under the agent", Valid: startsValid, Check: func(ctx context.Context) error {
			candidates, err := used.candidates(i)
			if err != nil {
				return err
			}
			return anyStarts(candidates, func(j usable) error { return e.Starts(ctx, j.home, j.feature, j.digest) })
		}},
	}
}

// usable is a JDK that trials of this runner may use.
type usable struct {
	name, home, digest string
	feature            int
}

// anyStarts returns nil if one of the JDKs starts: campaigns may contain builds that do not start anywhere. There is nothing to try
// before the first trial of a runner without a catalogue.
func anyStarts(candidates []usable, start func(usable) error) error {
	var problems []error
	for _, j := range candidates {
		err := start(j)
		if err == nil {
			return nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", j.name, err))
	}
	return errors.Join(problems...)
}

// maxTried bounds how many JDKs are tried, so that a machine on which none starts says so soon.
const maxTried = 3

// usedJDK remembers the JDK that the last trial used. Safe for concurrent use.
type usedJDK struct {
	mu   sync.Mutex
	last []usable // at most one
}

type provideJDK = func(context.Context, *misstepv1.Jdk) (home string, feature int, err error)

// remember returns a function that provides a JDK by next and remembers it.
func (u *usedJDK) remember(next provideJDK) provideJDK {
	return func(ctx context.Context, j *misstepv1.Jdk) (string, int, error) {
		home, feature, err := next(ctx, j)
		if err == nil {
			digest := j.GetDigest()
			if digest == "" {
				digest = home
			}
			u.mu.Lock()
			u.last = []usable{{j.GetName(), home, digest, feature}}
			u.mu.Unlock()
		}
		return home, feature, err
	}
}

// candidates are the JDKs to try: the last one used, then the newest of the catalogue.
func (u *usedJDK) candidates(i local.Installation) ([]usable, error) {
	u.mu.Lock()
	all := slices.Clone(u.last)
	u.mu.Unlock()
	entries, err := i.JDKs().List()
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		if len(all) < maxTried && !slices.ContainsFunc(all, func(j usable) bool { return j.home == e.Path }) {
			all = append(all, usable{e.Name, e.Path, e.Digest.String(), e.Feature})
		}
	}
	return all, nil
}
