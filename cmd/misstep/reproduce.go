package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"misstep/app/bundles"
	"misstep/app/executors"
	"misstep/app/reproduction"
	"misstep/app/station"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

type reproduceCommand struct {
	Start  reproduceStart  `cmd:"" default:"withargs" help:"Go from a finding to a verified reproducer and write its bundle; resumes if interrupted."`
	List   reproduceList   `cmd:"" help:"List reproductions, newest first."`
	Show   reproduceShow   `cmd:"" help:"Show one reproduction: steps, what is needed, affected builds, reliability."`
	Cancel reproduceCancel `cmd:"" help:"Cancel a running reproduction."`
}

// reproduceFlags say what a reproduction may cost and try.
type reproduceFlags struct {
	BudgetTrials uint64        `within:"[1,)" help:"Maximum number of trials (default: 20,000)." placeholder:"N"`
	BudgetTime   time.Duration `within:"(0s,)" help:"Maximum time." default:"1h" placeholder:"DURATION"`
	JDKs         []string      `name:"jdks" help:"Builds of the catalogue to bisect over (default: all)." sep:"," predictor:"jdk" placeholder:"NAME"`
	Perturb      []string      `help:"Perturbations to try while amplifying, as STRATEGY[@MECHANISM] with sched_ext or agent; \"none\" disables (default: chaos@agent)." sep:"," predictor:"strategy" placeholder:"STRATEGY[@MECHANISM]"`
	CleanTries   uint32        `within:"any" help:"Verification runs using only the finished bundle; 0 skips them." default:"10" placeholder:"N"`
	Again        bool          `help:"Redo a finished reproduction."`
}

func (f reproduceFlags) limits() reproduction.Limits {
	return reproduction.Limits{
		Trials: f.BudgetTrials, Time: f.BudgetTime, JDKs: f.JDKs, Perturb: f.Perturb, CleanTries: f.CleanTries, Again: f.Again,
	}
}

type reproduceStart struct {
	coordinatorFlags
	reproduceFlags
	embedFlags
	Finding string `arg:"" help:"Finding id or a prefix of it."`
	Out     string `short:"o" help:"Bundle to write (default: bundles/FINDING.zip in --dir, else ./FINDING.zip)." type:"path" placeholder:"FILE.zip"`
	Slots   int    `within:"[1,4096]" help:"Maximum concurrent trials with --dir (default: number of CPUs)." placeholder:"N"`
	JSON    bool   `help:"Print {reproduction, bundle}; progress stays on stderr."`
}

// reproduceResult is what `misstep reproduce --json` prints.
type reproduceResult struct {
	Reproduction raw    `json:"reproduction"`
	Bundle       string `json:"bundle"`
}

// Run reproduces.
func (c *reproduceStart) Run(ctx context.Context, e *env) error {
	st, finish, err := c.open(e)
	if err != nil {
		return err
	}
	defer finish()
	response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: c.Finding})
	if err != nil {
		return err
	}
	id := response.GetFinding().GetId()
	out := c.Out
	if out == "" {
		out = id + ".zip"
		if c.Dir != "" {
			out = filepath.Join(c.Dir, "bundles", out)
		}
	}
	status, err := reproduction.Driver{
		Bundles: bundles.Writer{Installation: e.installation(), Station: st, SigningKey: e.cli.SigningKey, Embed: c.Embed},
		Limits:  c.limits(), Show: reproductionLines(e.stderr), Say: e.say, Logger: e.warnings(),
		WhileRunning: func(work func(context.Context) error) error {
			if st.Remote {
				return work(ctx)
			}
			return executors.RunDuring(ctx, e.installation(), executors.RunnerConfig{
				Station: st, Slots: c.Slots, Scratch: filepath.Join(c.Dir, "trials"), Logger: e.warnings(), Warnings: e.warnings(),
			}, work)
		},
	}.Run(ctx, id, out)
	if _, ok := errors.AsType[*reproduction.NotReproducedError](err); ok {
		return &exitError{code: exitFound, err: err}
	}
	if err != nil {
		return err
	}
	if err := e.sayShared(out); err != nil {
		return err
	}
	if c.JSON {
		return e.json(reproduceResult{Reproduction: raw{status}, Bundle: out})
	}
	renderReproduction(e.stdout, status)
	_, err = fmt.Fprintf(e.stdout, "\nbundle: %s\nrepeat it with: misstep replay %s\n", out, out)
	return err
}

// open connects to the coordinator; a folder is opened here, for this process alone.
func (c *reproduceStart) open(e *env) (*station.Station, func(), error) {
	if c.Dir == "" {
		st, err := c.coordinatorFlags.open(e)
		if err != nil {
			return nil, nil, err
		}
		return st, st.Close, nil
	}
	if err := station.CheckDir(c.Dir); err != nil { // before locking, which would create the folder
		return nil, nil, err
	}
	unlock, err := station.Lock(c.Dir)
	if err != nil {
		return nil, nil, err
	}
	st, err := station.OpenDir(c.Dir, station.HuntTiming(e.warnings()), access.DialOptions(c.Project)...)
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return st, func() { st.Close(); unlock() }, nil
}

type reproduceList struct {
	coordinatorFlags
	Finding string `help:"Only reproductions of this finding." placeholder:"ID"`
	JSON    bool   `help:"Print a list of reproductions."`
}

// Run lists.
func (c *reproduceList) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	response, err := st.ListReproductions(ctx, &misstepv1.ListReproductionsRequest{FindingId: c.Finding})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(response.GetReproductions()))
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "id\tfinding\tstate\tstep\ttrials\tstarted\tresult")
	for _, s := range response.GetReproductions() {
		result := s.GetFailure()
		if r := s.GetReproducer(); r != nil {
			result = reliabilityText(r.GetReliability())
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", s.GetId(), s.GetFindingId(), reproductionState(s.GetState()),
			lastStep(s).GetName(), s.GetTrials(),
			s.GetStarted().AsTime().Local().Format(time.DateTime), result)
	}
	return t.Flush()
}

type reproduceShow struct {
	coordinatorFlags
	ID   string `arg:"" help:"Reproduction id or a prefix of it."`
	JSON bool   `help:"Print the reproduction."`
}

// Run shows one.
func (c *reproduceShow) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	response, err := st.GetReproduction(ctx, &misstepv1.GetReproductionRequest{ReproductionId: c.ID})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(response.GetReproduction())
	}
	renderReproduction(e.stdout, response.GetReproduction())
	return nil
}

type reproduceCancel struct {
	coordinatorFlags
	ID string `arg:"" help:"Reproduction id or a prefix of it."`
}

// Run cancels one.
func (c *reproduceCancel) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.CancelReproduction(ctx, &misstepv1.CancelReproductionRequest{ReproductionId: c.ID})
	return err
}
