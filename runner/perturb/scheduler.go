package perturb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/bpf"
	"misstep/internal/capped"
	"misstep/internal/filelock"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/schedule"
)

// MaxLog bounds a schedule log in bytes; later records are dropped, and the log then has no end record.
const MaxLog = 64 << 20

// Scheduler perturbs by a sched_ext scheduler. The kernel can have only one: the trials of this host take turns.
type Scheduler struct {
	// Lock is the lock file shared by the runners of one host; by default one in the system's folder for temporary files.
	Lock string
}

var _ Perturber = Scheduler{}

// Mechanism implements Perturber.
func (Scheduler) Mechanism() string { return misstepv1.MechanismScheduler }

// Check implements Perturber.
func (Scheduler) Check(p *misstepv1.Perturbation) error { return of(p).Validate() }

func of(p *misstepv1.Perturbation) schedule.Perturbation {
	return schedule.Perturbation{Strategy: p.GetStrategy(), Seed: p.GetSeed(), Parameters: p.GetParameters()}
}

// Begin attaches the scheduler, which does not schedule any thread yet.
func (x Scheduler) Begin(ctx context.Context, t Trial) (Session, error) {
	if err := bpf.Supported(); err != nil && !errors.Is(err, bpf.ErrBusy) {
		return nil,
			runner.Permanent(fmt.Errorf("%w; or set `executor: vm` in the campaign or recipe, or `mechanism: agent` in its "+
				"perturbation", err))
	}
	unlock, err := x.lock(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{trial: t, unlock: unlock}
	header := schedule.Header{Perturbation: of(t.Perturbation), Command: t.Command}
	if s.log, err = schedule.NewLogWriter(capped.New(t.Log, MaxLog), header); err == nil {
		s.scheduler, err = bpf.Attach(bpf.Options{Perturbation: header.Perturbation, Log: s.log})
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return s, nil
}

// lock waits for this host's turn.
func (x Scheduler) lock(ctx context.Context) (unlock func(), err error) {
	path := x.Lock
	if path == "" {
		path = filepath.Join(os.TempDir(), "misstep-scheduler.lock")
	}
	// Do not follow a link that another user may have created.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("wait for the scheduler: %w", err)
	}
	unlock, err = filelock.Wait(ctx, f, nil)
	if err != nil {
		return nil, fmt.Errorf("wait for the scheduler: %w", err)
	}
	return unlock, nil
}

type session struct {
	trial     Trial
	unlock    func()
	log       *schedule.LogWriter
	scheduler *bpf.Scheduler
}

func (s *session) Start(cmd *exec.Cmd) error { return s.scheduler.StartHere(cmd) }

func (s *session) Over() <-chan struct{} { return s.scheduler.Ended() }

func (s *session) End() (*misstepv1.PerturbationReport, error) {
	defer s.unlock()
	report, err := s.scheduler.Detach()
	if err = errors.Join(err, s.log.Close(report.Lost)); err != nil {
		return nil, err
	}
	if e := report.Ejection; e != nil {
		if _, err := io.WriteString(s.trial.Dump, e.Dump); err != nil {
			return nil, fmt.Errorf("keep the kernel's debug dump: %w", err)
		}
	}
	out := reportOf(report)
	out.Parameters = s.trial.Perturbation.GetParameters()
	return out, nil
}

func reportOf(r *schedule.Report) *misstepv1.PerturbationReport {
	out := &misstepv1.PerturbationReport{
		Strategy: r.Strategy, Seed: r.Seed, Applied: r.Applied(), Mechanism: misstepv1.MechanismScheduler, Kernel: Kernel(),
		Decisions: r.Decisions, Threads: r.ThreadCount, Outside: r.Outside, Roles: map[string]*misstepv1.RolePerturbation{},
	}
	if n := r.Chosen.Count(); n > 0 {
		out.Delays = &misstepv1.DelayDistribution{
			Count: n, Median: durationpb.New(r.Chosen.Quantile(0.5)), P90: durationpb.New(r.Chosen.Quantile(0.9)),
			P99: durationpb.New(r.Chosen.Quantile(0.99)), Longest: durationpb.New(r.Chosen.Quantile(1)),
		}
	}
	delayed, ran := map[string]time.Duration{}, map[string]time.Duration{}
	for _, t := range r.Threads {
		role := out.Roles[t.Role]
		if role == nil {
			role = &misstepv1.RolePerturbation{}
			out.Roles[t.Role] = role
		}
		role.Threads++
		role.Decisions += uint64(t.Decisions)
		role.Delays += uint64(t.Delays)
		role.Starved += uint64(t.Starved)
		role.Preempted += uint64(t.Preemptions) + uint64(t.Overtaken)
		role.Priorities += uint64(t.PriorityChanges)
		delayed[t.Role] += t.Delay
		ran[t.Role] += t.Ran
	}
	for name, role := range out.Roles {
		role.Delayed, role.Ran = durationpb.New(delayed[name]), durationpb.New(ran[name])
	}
	if r.Ejection != nil {
		out.Ejected = r.Ejection.String()
	}
	return out
}
