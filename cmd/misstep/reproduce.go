package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	"misstep/bundle"
	"misstep/coordinator/campaign"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

type reproduceCommand struct {
	Start  reproduceStart  `cmd:"" default:"withargs" help:"Go from a finding to a verified reproducer and write its bundle; an interrupted one goes on."`
	List   reproduceList   `cmd:"" help:"List reproductions, newest first."`
	Show   reproduceShow   `cmd:"" help:"Show one reproduction: steps, what is needed, affected builds, reliability."`
	Cancel reproduceCancel `cmd:"" help:"Cancel one that runs."`
}

// reproduceLimits are the options that say what a reproduction may cost and try.
type reproduceLimits struct {
	BudgetTrials uint64        `help:"Trials at most (default: 20,000)." placeholder:"N"`
	BudgetTime   time.Duration `help:"Time at most." default:"1h" placeholder:"DURATION"`
	JDKs         []string      `name:"jdks" help:"Builds of the catalogue to bisect over (default: all)." sep:"," placeholder:"NAME"`
	Perturb      []string      `help:"Perturbations that amplifying may try, by sched_ext or @agent (default: chaos@agent; none for none)." sep:"," placeholder:"STRATEGY[@MECHANISM]"`
	CleanTries   uint32        `help:"Tries from the bundle alone at the end." default:"10" placeholder:"N"`
	Again        bool          `help:"Reproduce anew what was reproduced with the same options before."`
}

type reproduceStart struct {
	where
	reproduceLimits
	Finding string `arg:"" help:"Finding id or the start of it."`
	Out     string `short:"o" help:"Bundle to write (default: bundles/FINDING.zip in --dir, else ./FINDING.zip)." type:"path" placeholder:"FILE.zip"`
	Slots   int    `help:"Trials at once with --dir (default: one for each CPU)." placeholder:"N"`
	JSON    bool   `help:"Print {reproduction, bundle}; progress stays on stderr."`
}

// reproduceResult is what `misstep reproduce --json` prints.
type reproduceResult struct {
	Reproduction raw    `json:"reproduction"`
	Bundle       string `json:"bundle"`
}

// Run reproduces: exit 0 with a bundle that showed the finding from a clean place, 1 not reproduced, 2 could not run.
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
	status, err := e.reproduce(ctx, st, id, out, c.reproduceLimits, func(work func(context.Context) error) error {
		if c.Dir == "" {
			return work(ctx)
		}
		return e.runMeanwhile(ctx, st, c.Slots, filepath.Join(c.Dir, "trials"), work)
	})
	if err != nil {
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
func (c *reproduceStart) open(e *env) (*station, func(), error) {
	if c.Dir == "" {
		st, err := c.station(e.warnings())
		if err != nil {
			return nil, nil, err
		}
		return st, st.close, nil
	}
	if err := stores.InFolder(c.Dir); err != nil {
		return nil, nil, fmt.Errorf("%s holds no hunt (%w); give the --dir of an earlier `misstep hunt` or coordinator", c.Dir, err)
	}
	unlock, err := lock(c.Dir)
	if err != nil {
		return nil, nil, err
	}
	st, err := embed(c.Dir, huntTiming(e.warnings()))
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return st, func() { st.close(); unlock() }, nil
}

// reproduce drives a reproduction of the finding to its end, writes the bundle and tries it in a clean place. run lets work happen while
// somebody runs trials.
func (e *env) reproduce(ctx context.Context, st *station, id, out string, c reproduceLimits, run func(work func(context.Context) error) error) (*misstepv1.ReproductionStatus, error) {
	request, err := e.reproductionRequest(ctx, st, id, c)
	if err != nil {
		return nil, err
	}
	started, err := st.StartReproduction(ctx, request)
	if err != nil {
		return nil, err
	}
	if started.GetExisting() {
		fmt.Fprintf(e.stderr, "going on with reproduction %s of %s\n", started.GetReproductionId(), id)
	}
	var status *misstepv1.ReproductionStatus
	err = run(func(ctx context.Context) (err error) {
		status, err = watchReproduction(ctx, e.stderr, st, started.GetReproductionId())
		return err
	})
	if err != nil {
		return nil, goesOn(ctx, err)
	}
	if status.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_DONE {
		why := status.GetFailure()
		if why == "" {
			why = "it was cancelled"
		}
		return nil, &exitError{code: exitFound, err: fmt.Errorf("reproduction %s of %s: %s", status.GetId(), id, why)}
	}
	reproducer := status.GetReproducer()
	if err := e.writeReproducer(ctx, st, reproducer, out, ""); err != nil {
		return nil, goesOn(ctx, err)
	}
	if known := reproducer.GetClean(); c.CleanTries == 0 || known.GetHits() > 0 && known.GetTries() >= c.CleanTries {
		return status, nil
	}
	if reproducer.Clean, err = e.tryClean(ctx, st.blobs, out, c.CleanTries); err != nil {
		return nil, goesOn(ctx, err)
	}
	if _, err := st.RecordClean(ctx, &misstepv1.RecordCleanRequest{ReproductionId: status.GetId(), Clean: reproducer.GetClean()}); err != nil {
		return nil, goesOn(ctx, err)
	}
	if reproducer.GetClean().GetHits() == 0 {
		return nil, &exitError{code: exitFound, err: fmt.Errorf("%s: the bundle did not show the finding in %d tries from a clean folder, though %d of %d trials did",
			out, reproducer.GetClean().GetTries(), reproducer.GetReliability().GetHits(), reproducer.GetReliability().GetTries())}
	}
	return status, goesOn(ctx, e.writeReproducer(ctx, st, reproducer, out, ""))
}

// goesOn says of an interruption that nothing is lost by it.
func goesOn(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &exitError{code: exitCannot, err: fmt.Errorf("%w; nothing finished is lost, the same command goes on", errInterrupted)}
	}
	return err
}

// reproductionRequest resolves builds in the catalogue and gives a coordinator elsewhere what it lacks of them.
func (e *env) reproductionRequest(ctx context.Context, st *station, id string, c reproduceLimits) (*misstepv1.StartReproductionRequest, error) {
	artefacts, err := e.agent()
	if err != nil {
		return nil, err
	}
	request := &misstepv1.StartReproductionRequest{
		FindingId: id, Trials: c.BudgetTrials, Time: durationpb.New(c.BudgetTime), AgentDigest: artefacts.Digest, Again: c.Again,
	}
	response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: id})
	if err != nil {
		return nil, err
	}
	if request.Instrumented, err = instrumented(ctx, st, response.GetFinding()); err != nil {
		return nil, err
	}
	if request.Perturbations, err = perturbations(c.Perturb); err != nil {
		return nil, fmt.Errorf("--perturb %w", err)
	}
	if len(c.Perturb) > 0 {
		if err := e.amplifiable(ctx, st, request, response.GetFinding().GetExampleRecipe()); err != nil {
			return nil, fmt.Errorf("--perturb %w", err)
		}
	}
	entries, err := e.jdks().List()
	if err != nil {
		return nil, err
	}
	for _, name := range c.JDKs {
		if _, err := e.resolveJdk(&misstepv1.Jdk{Name: name}); err != nil {
			return nil, fmt.Errorf("--jdks: %w", err)
		}
	}
	for _, entry := range entries {
		if len(c.JDKs) > 0 && !slices.Contains(c.JDKs, entry.Name) {
			continue
		}
		request.Builds = append(request.Builds, &misstepv1.JdkBuild{
			Jdk:     &misstepv1.Jdk{Name: entry.Name, Digest: entry.Digest.String(), Version: entry.Version},
			Feature: uint32(entry.Feature), Vendor: entry.Vendor, // a feature release is a small number
		})
		if st.remote {
			if err := e.jdks().Push(ctx, st.blobs, entry.Name); err != nil {
				return nil, err
			}
		}
	}
	return request, nil
}

// perturbations by STRATEGY or STRATEGY@MECHANISM. Where nobody names any it is the one that takes neither a kernel of its kind nor root; the
// coordinator leaves it out where it cannot be.
func perturbations(names []string) ([]*misstepv1.Perturbation, error) {
	if len(names) == 0 {
		names = []string{"chaos@" + misstepv1.MechanismAgent}
	}
	var all []*misstepv1.Perturbation
	known := strategies()
	for _, name := range names {
		strategy, mechanism, _ := strings.Cut(name, "@")
		switch {
		case !slices.ContainsFunc(known, func(s campaign.Strategy) bool { return s.Name == strategy }):
			return nil, fmt.Errorf("%s: no strategy is called %q; `misstep sched strategies` explains them", name, strategy)
		case !slices.Contains([]string{"", misstepv1.MechanismScheduler, misstepv1.MechanismAgent}, mechanism):
			return nil, fmt.Errorf("%s: no mechanism is called %q; there are %s and %s", name, mechanism, misstepv1.MechanismScheduler, misstepv1.MechanismAgent)
		case strategy != misstepv1.StrategyNone:
			all = append(all, &misstepv1.Perturbation{Strategy: strategy, Mechanism: mechanism})
		}
	}
	return all, nil
}

// amplifiable refuses perturbations that somebody named and the recipe or this machine cannot have, unless a reproduction runs, which has its own.
func (e *env) amplifiable(ctx context.Context, st *station, request *misstepv1.StartReproductionRequest, recipe *misstepv1.Recipe) error {
	under, err := underReproduction(ctx, st, 0)
	if err != nil || slices.Contains(under, request.GetFindingId()) {
		return err
	}
	have := []string{misstepv1.MechanismScheduler} // or the coordinator says that no runner has it
	if !st.remote {
		have = e.executors(ctx)
	}
	return impossible(request.GetPerturbations(), recipe, have)
}

// impossible says which of the perturbations trials of a recipe cannot have on a machine with these capabilities.
func impossible(all []*misstepv1.Perturbation, r *misstepv1.Recipe, have []string) error {
	for _, p := range all {
		need := recipe.NeededCapability(r.GetExecutor(), p)
		if need == recipe.SchedExt && !need.MetBy(have) {
			return fmt.Errorf("%s: this machine has no %s; %s@%s perturbs at the agent's instrumentation points", p.GetStrategy(), need, p.GetStrategy(), misstepv1.MechanismAgent)
		}
		if !recipe.CanPerturb(r, p) {
			return fmt.Errorf("%s@%s: the finding's recipe has no checks or instruments no methods, so the agent has no points to perturb at", p.GetStrategy(), p.GetMechanism())
		}
	}
	return nil
}

// instrumented methods of the trial that found it, by its evidence; none when that has no list.
func instrumented(ctx context.Context, st *station, f *misstepv1.Finding) ([]string, error) {
	for _, ev := range f.GetExample().GetEvidence() {
		if ev.GetName() != agent.FileMethods {
			continue
		}
		d, err := digest(ev.GetDigest(), "evidence "+ev.GetName())
		if err != nil {
			return nil, err
		}
		r, _, err := st.blobs.Open(ctx, d)
		if err != nil {
			return nil, fmt.Errorf("read the methods that were instrumented: %w", err)
		}
		defer r.Close()
		data, err := io.ReadAll(io.LimitReader(r, agent.MaxMethodsBytes))
		if err != nil {
			return nil, fmt.Errorf("read the methods that were instrumented: %w", err)
		}
		return agent.ParseMethods(data), nil
	}
	return nil, nil
}

// tryClean repeats a bundle in a new folder with nothing from any cache, without a coordinator and with a fresh seed for each try, unless
// the bug needs its own.
func (e *env) tryClean(ctx context.Context, blobs corpus.Source, path string, tries uint32) (*misstepv1.Reliability, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	scratch, err := os.MkdirTemp("", "misstep-clean-")
	if err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	home, err := e.sameBuild(ctx, blobs, b.Reproducer().GetRecipe().GetJdk())
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	replay, err := e.prepareReplay(ctx, b, home, scratch)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	if err := os.Chmod(scratch, 0o711); err != nil { // JVMs of another user pass through
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	executor, err := e.route(replay.host, "")
	if err != nil {
		return nil, err
	}
	result, shown := replayResult{Others: map[string]int{}}, shows(b.Reproducer().GetFinding())
	for try := range tries {
		outcome, err := executor.Run(ctx, ofTry(b.Reproducer(), replay.recipe, try), nil)
		if err != nil {
			return nil, fmt.Errorf("replay %s: try %d: %w", path, try+1, err)
		}
		result.count(outcome, shown)
		fmt.Fprintf(e.stderr, "clean: %d of %d tries of the bundle showed it\n", result.Hits, result.Tries)
	}
	if result.Tries == 0 {
		return nil, &exitError{code: exitCannot, err: fmt.Errorf("replay %s: %w", path, result.allVoid())}
	}
	return reliabilityOf(result.Hits, result.Tries), nil
}

// sameBuild is the folder of exactly this JDK out of the corpus, or nothing when the catalogue has it: the JDK of the PATH, which a replay
// would take otherwise, is no proof of the bundle.
func (e *env) sameBuild(ctx context.Context, blobs corpus.Source, jdk *misstepv1.Jdk) (string, error) {
	if _, here := e.jdkOf(jdk.GetDigest()); here {
		return "", nil
	}
	home, _, err := e.provider(blobs).JDK(ctx, jdk)
	if err != nil {
		return "", fmt.Errorf("%w; add that build (%s, %s) with `misstep jdk add`, or leave the tries from the bundle alone out with --clean-tries 0", err, jdk.GetVersion(), jdk.GetDigest())
	}
	return home, nil
}

// watchReproduction shows a reproduction's progress until it has ended.
func watchReproduction(ctx context.Context, w io.Writer, st *station, id string) (*misstepv1.ReproductionStatus, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last time.Time
	step := ""
	for {
		response, err := st.GetReproduction(ctx, &misstepv1.GetReproductionRequest{ReproductionId: id})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		s := response.GetReproduction()
		if now := lastStep(s).GetName(); now != step || time.Since(last) >= lineEvery {
			step, last = now, time.Now()
			fmt.Fprintln(w, reproductionLine(s))
		}
		if s.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

func lastStep(s *misstepv1.ReproductionStatus) *misstepv1.ReproductionStep {
	if n := len(s.GetSteps()); n > 0 {
		return s.GetSteps()[n-1]
	}
	return nil
}

// reproductionLine tells step, trials, the rate with its interval and the time left.
func reproductionLine(s *misstepv1.ReproductionStatus) string {
	doing := s.GetDoing()
	if doing == "" {
		doing = reproductionState(s.GetState())
	}
	parts := []string{fmt.Sprintf("%s: %s", lastStep(s).GetName(), doing), fmt.Sprintf("trials %d done %d running", s.GetTrials(), s.GetRunning())}
	if r := s.GetRate(); r.GetTries() > 0 {
		parts = append(parts, "rate "+reliabilityText(r))
	}
	if s.GetLeft() != nil {
		parts = append(parts, fmt.Sprintf("ETA %v", s.GetLeft().AsDuration().Round(time.Second)))
	}
	return strings.Join(parts, " | ")
}

func reproductionState(s misstepv1.ReproductionState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "REPRODUCTION_STATE_"))
}

type reproduceList struct {
	where
	Finding string `help:"Only those of this finding." placeholder:"ID"`
	JSON    bool   `help:"Print a list of reproductions."`
}

// Run lists.
func (c *reproduceList) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
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
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", s.GetId(), s.GetFindingId(), reproductionState(s.GetState()), lastStep(s).GetName(), s.GetTrials(),
			s.GetStarted().AsTime().Local().Format(time.DateTime), result)
	}
	return t.Flush()
}

type reproduceShow struct {
	where
	ID   string `arg:"" help:"Reproduction id or the start of it."`
	JSON bool   `help:"Print the reproduction."`
}

// Run shows one.
func (c *reproduceShow) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
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
	where
	ID string `arg:"" help:"Reproduction id or the start of it."`
}

// Run cancels one.
func (c *reproduceCancel) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
	_, err = st.CancelReproduction(ctx, &misstepv1.CancelReproductionRequest{ReproductionId: c.ID})
	return err
}
