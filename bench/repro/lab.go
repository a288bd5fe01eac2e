package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"misstep/agent"
	"misstep/bench"
	"misstep/coordinator/reproduce"
	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	"misstep/deploy/jdk"
	"misstep/internal/faults"
	"misstep/internal/home"
	"misstep/internal/splitmix"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/jvm"
	"misstep/runner/perturb"
	"misstep/signature"
	"misstep/triage"
	"misstep/workloads"
)

// entry is one stored measurement on real JVMs: a reproduction, or a few tries of a recipe.
type entry struct {
	Case string `json:"case"`
	// Digest of what the figures depend on: the case, its JDKs and workload, the sources of engine and injector. The agent is only
	// a tool here, which has to observe the bug; it is named but not part of the digest, since otherwise each change of it would
	// discard days of measurements.
	Digest string `json:"digest"`
	Agent  string `json:"agent"`
	// Made is the case's reproduction, in a case's first entry.
	Made *reproduced `json:"made,omitempty"`
	// Purpose of the tries, Recipe is the digest of the recipe (without a seed), Results a letter for each try: h (hit), m (miss)
	// or v (void).
	Purpose string `json:"purpose,omitempty"`
	Recipe  string `json:"recipe,omitempty"`
	Results string `json:"results,omitempty"`
}

// reproduced is the product's reproduction of a case.
type reproduced struct {
	Failure string `json:"failure,omitempty"`
	// Signature, recipes and bisection as protocol JSON: of the finding, the best recipe that was run, the reproducer's.
	Signature json.RawMessage `json:"signature,omitempty"`
	Found     json.RawMessage `json:"found,omitempty"`
	Best      json.RawMessage `json:"best,omitempty"`
	Final     json.RawMessage `json:"final,omitempty"`
	Methods   []string        `json:"methods,omitempty"`
	// Rate of the finding's recipe as measured by the step confirm; Tries by step; Kept elements.
	Rate        float64        `json:"rate"`
	Tries       map[string]int `json:"tries,omitempty"`
	Kept        []string       `json:"kept,omitempty"`
	Affected    []string       `json:"affected,omitempty"`
	Clean       string         `json:"clean,omitempty"`
	TookSeconds float64        `json:"took_seconds"`
}

// search returns the number of tries up to the minimised recipe.
func (m reproduced) search() int {
	return m.Tries[reproduce.StepConfirm] + m.Tries[reproduce.StepAmplify] + m.Tries[reproduce.StepMinimise]
}

// lab has its own catalogues, so that a bisection never picks up an unrelated JDK with an injector, and the runner's executor.
type lab struct {
	dir, home string
	jdks      *jdk.Catalogue
	workload  workloads.Entry
	manifest  workloads.Manifest
	agent     agent.Artefacts
	injector  string
	engine    []byte // sources of engine and injector
	executor  *jvm.Executor
	slots     int // concurrent tries: a JVM waits for its runner half of the time
	scratch   string
	store     *bench.Store[entry]
	log       io.Writer
}

func openLab(ctx context.Context, dir string, log io.Writer) (*lab, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find folder: %w", err)
	}
	l := &lab{dir: dir, home: filepath.Join(dir, "home"), log: log, slots: 2 * runtime.NumCPU()}
	l.jdks = jdk.Open(l.home)
	if l.agent, err = agent.Find(filepath.Join("build", "agent")); err != nil {
		return nil, err
	}
	if l.injector, err = filepath.Abs(filepath.Join("build", "agent-injector", faults.LibraryName)); err != nil {
		return nil, fmt.Errorf("find the injector: %w", err)
	}
	small := filepath.Join(dir, "small")
	if out, err := exec.CommandContext(ctx, "bench/repro/small/build.sh", small).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the workload: %w: %s", err, out)
	}
	// The lab's own copy, rebuilt if the sources changed.
	if err := os.RemoveAll(filepath.Join(l.home, "workloads")); err != nil {
		return nil, fmt.Errorf("add the workload: %w", err)
	}
	if l.workload, err = workloads.Open(l.home).Add(ctx, small, workloads.AddOptions{}); err != nil {
		return nil, err
	}
	if l.manifest, err = workloads.Load(l.workload.Path); err != nil {
		return nil, err
	}
	for _, glob := range []string{"coordinator/reproduce/*.go", "coordinator/bisect/*.go", "agent/test/injector/*.cpp"} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("find the engine's sources %s; start the benchmark at the root of the repository", glob)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read the engine's sources: %w", err)
			}
			l.engine = append(l.engine, text...)
		}
	}
	if l.scratch, err = os.MkdirTemp("", "misstep-bench-repro-"); err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	unconfined, err := faults.Unconfined()
	if err != nil {
		return nil, err
	}
	l.executor = &jvm.Executor{
		Sandbox: unconfined,
		JDK: func(_ context.Context, j *misstepv1.Jdk) (string, int, error) {
			e, err := l.jdks.Get(j.GetName())
			return e.Path, e.Feature, err
		},
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			return l.workload.Path, l.manifest, nil
		},
		Agent: l.agent, Scratch: filepath.Join(l.scratch, "trials"), PatchCache: filepath.Join(l.home, "cache", "patch"),
		Perturbers: []perturb.Perturber{perturb.Agent{}},
	}
	l.store, err = bench.OpenStore[entry](dir + ".cases.jsonl")
	return l, errors.Join(err, l.executor.Open())
}

func (l *lab) close() { _ = errors.Join(l.store.Close(), os.RemoveAll(l.scratch)) }

// prepare adds the case's JDKs to the catalogue and digests what its figures depend on.
func (l *lab) prepare(ctx context.Context, c realCase) (digest string, err error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%+v\n%s\n%s", c.yaml(), c.builds, l.workload.Digest, l.engine)
	for _, name := range append([]string{c.jdk}, c.builds...) {
		source, err := jdk.Open(home.Dir()).Get(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "\n%s", source.Digest)
		if c.plan != nil {
			fmt.Fprintf(sum, "\n%+v", *c.plan)
			dir := filepath.Join(l.dir, "jdks", c.build())
			if err := faults.Wrap(dir, source.Path, l.injector, *c.plan); err != nil {
				return "", err
			}
			name, source.Path = c.build(), dir
		}
		if err := l.add(ctx, name, source.Path); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// add adds a JDK by its folder; if it has changed, the old entry is removed first.
func (l *lab) add(ctx context.Context, name, path string) error {
	_, err := l.jdks.Add(ctx, name, path, jdk.AddOptions{})
	if err != nil && l.jdks.Remove(name) == nil {
		_, err = l.jdks.Add(ctx, name, path, jdk.AddOptions{})
	}
	return err
}

// reproduction returns the case's reproduction by the product: hunt, then reproduce. It resumes if interrupted.
func (l *lab) reproduction(ctx context.Context, c realCase, digest string) (reproduced, error) {
	for _, e := range l.store.Entries {
		if e.Case == c.name && e.Digest == digest && e.Made != nil {
			return *e.Made, nil
		}
	}
	begun := time.Now()
	// An unfinished reproduction requires the agent that it was started with.
	agentID := strings.TrimPrefix(l.agent.Digest, "sha256:")[:8]
	m, err := l.make(ctx, c, filepath.Join(l.dir, "cases", c.name+"-"+digest+"-"+agentID))
	if ctx.Err() != nil {
		return reproduced{}, ctx.Err()
	}
	if errors.Is(err, errNothing) {
		m.Failure, err = err.Error(), nil
	}
	if err != nil {
		return reproduced{}, err
	}
	m.TookSeconds = time.Since(begun).Seconds()
	return m, l.store.Add(entry{Case: c.name, Digest: digest, Agent: l.agent.Digest, Made: &m})
}

// errNothing reports that the product searched and has no finding or no reproducer; other errors are not results.
var errNothing = errors.New("nothing")

func (l *lab) make(ctx context.Context, c realCase, dir string) (reproduced,
	error,
) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return reproduced{}, fmt.Errorf("make folder: %w", err)
	}
	file, idFile := filepath.Join(dir, "campaign.yaml"), filepath.Join(dir, "finding")
	id, err := os.ReadFile(idFile)
	if err != nil { // not found yet
		if err := os.WriteFile(file, []byte(c.yaml()), 0o644); err != nil {
			return reproduced{}, fmt.Errorf("write campaign: %w", err)
		}
		var found struct {
			Findings []json.RawMessage `json:"findings"`
		}
		if err := l.misstep(ctx, &found, "hunt", file, "--dir", dir, "--json", "--slots", fmt.Sprint(l.slots)); err != nil {
			return reproduced{}, err
		}
		var seen []string
		hits := uint64(0)
		for _, raw := range found.Findings {
			var f misstepv1.Finding
			if err := read(raw, &f); err != nil {
				return reproduced{}, err
			}
			seen = append(seen, f.GetTitle())
			if c.is(&f) && (len(id) == 0 || f.GetHits() > hits) { // the most frequent one, if there are several
				id, hits = []byte(f.GetId()), f.GetHits()
			}
		}
		if len(id) == 0 {
			return reproduced{}, fmt.Errorf("%w found like %q, but %q", errNothing, c.finding, seen)
		}
		if err := os.WriteFile(idFile, id, 0o644); err != nil {
			return reproduced{}, fmt.Errorf("store the finding: %w", err)
		}
	}
	builds := c.builds
	if len(builds) == 0 {
		builds = []string{c.build()}
	}
	var result struct {
		Reproduction json.RawMessage `json:"reproduction"`
	}
	if err := l.misstep(ctx, &result, "reproduce", string(id), "--dir", dir, "--json", "--jdks", strings.Join(builds, ","),
		"--slots", fmt.Sprint(l.slots),
		"--budget-trials", "200000", "--budget-time", "1000h"); err != nil {
		return reproduced{}, err
	}
	var status misstepv1.ReproductionStatus
	if err := read(result.Reproduction, &status); err != nil {
		return reproduced{}, err
	}
	return l.result(ctx, dir, &status)
}

// result reads from the reproduction's record what its status lacks: the best recipe that was run, the candidate methods.
func (l *lab) result(ctx context.Context, dir string, status *misstepv1.ReproductionStatus) (m reproduced, err error) {
	s, err := stores.Open(ctx, dir)
	if err != nil {
		return m, err
	}
	var record *misstepv1.Reproduction
	err = s.View(ctx, func(tx store.Tx) (err error) {
		record, err = tx.Reproduction(status.GetId())
		return err
	})
	if err = errors.Join(err, s.Close()); err != nil {
		return m, err
	}
	plan := reproduce.Next(record)
	p := status.GetReproducer()
	final, found := proto.CloneOf(p.GetRecipe()), proto.CloneOf(record.GetSpec().GetRecipe())
	if !p.GetSeedMatters() {
		final.Seed = 0
	}
	best := proto.CloneOf(plan.Best)
	for _, r := range []*misstepv1.Recipe{final, found, best} {
		r.AgentDigest = "" // use the current agent
	}
	found.FlagSet, found.Seed = "", 0 // as confirming starts unless a seed chooses methods, which no case has
	for _, x := range []struct {
		to   *json.RawMessage
		from proto.Message
	}{{&m.Signature, record.GetSpec().GetSignature()}, {&m.Found, found}, {&m.Best, best}, {&m.Final, final}} {
		if *x.to, err = protojson.Marshal(x.from); err != nil {
			return m, fmt.Errorf("store a recipe: %w", err)
		}
	}
	m.Methods, m.Tries = record.GetSpec().GetMethods(), map[string]int{}
	for _, step := range p.GetSteps() {
		m.Tries[step.GetName()] = int(step.GetTries())
		if step.GetName() == reproduce.StepConfirm {
			m.Rate = step.GetRate()
		}
	}
	for _, e := range p.GetKept() {
		m.Kept = append(m.Kept, e.GetKind()+" "+e.GetName())
	}
	for _, b := range p.GetBisection().GetBuilds() {
		if b.GetAffected() > 0.5 && b.GetSkipped() == "" {
			m.Affected = append(m.Affected, b.GetJdk().GetName())
		}
	}
	m.Clean = fmt.Sprintf("%d of %d", p.GetClean().GetHits(), p.GetClean().GetTries())
	return m, nil
}

// results returns the results of all tries of a recipe for a purpose so far.
func (l *lab) results(c realCase, digest, purpose, recipe string) string {
	var b strings.Builder
	for _, e := range l.store.Entries {
		if e.Case == c.name && e.Digest == digest && e.Purpose == purpose && e.Recipe == recipe {
			b.WriteString(e.Results)
		}
	}
	return b.String()
}

// sample tries a recipe until enough returns true for the results, a letter for each try; each try has its own seed unless the
// recipe has one. Earlier tries count.
func (l *lab) sample(ctx context.Context, c realCase, digest, purpose string, recipe *misstepv1.Recipe,
	signature *misstepv1.Signature, enough func(results string) bool,
) (string, error) {
	id, err := misstepv1.RecipeDigest(recipe)
	if err != nil {
		return "", err
	}
	all, fresh := l.results(c, digest, purpose, id), ""
	keep := func() error {
		if fresh == "" {
			return nil
		}
		e := entry{Case: c.name, Digest: digest, Agent: l.agent.Digest, Purpose: purpose, Recipe: id, Results: fresh}
		fresh = ""
		return l.store.Add(e)
	}
	for {
		if enough(all) {
			return all, keep()
		}
		// slots tries at once; enough may be called with a few too many results.
		letters := make([]byte, l.slots)
		var g errgroup.Group
		for i := range letters {
			run := proto.CloneOf(recipe)
			if run.GetSeed() == 0 {
				run.Seed = seed(purpose+id, len(all)+i)
			}
			g.Go(func() (err error) {
				letters[i], err = l.try(ctx, run, signature)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return all, errors.Join(fmt.Errorf("%s: try a recipe: %w", c.name, err), keep())
		}
		all, fresh = all+string(letters), fresh+string(letters)
		const portion = 20
		if len(fresh) >= portion {
			if err := keep(); err != nil {
				return all, err
			}
		}
	}
}

// try runs a recipe once.
func (l *lab) try(ctx context.Context, recipe *misstepv1.Recipe, wanted *misstepv1.Signature) (letter byte, err error) {
	outcome, err := l.executor.Run(ctx, recipe, nil)
	if runner.IsPermanent(err) {
		return 'v', nil // cannot be run: for example, the agent refuses checks without instrumented methods
	}
	if err != nil {
		return 0, err
	}
	for _, found := range triage.Triage(outcome) {
		if signature.Same(found.Signature, wanted) {
			return 'h', nil
		}
	}
	if outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_VOID && !triage.Idle(outcome) {
		return 'v', nil
	}
	return 'm', nil
}

// seed returns the seed of the i-th try for a purpose; never 0.
func seed(purpose string, i int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", purpose, i))
	var x uint64
	for _, b := range sum[:8] {
		x = x<<8 | uint64(b)
	}
	return max(1, splitmix.Mix(x))
}

func read(raw json.RawMessage, into proto.Message) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	return nil
}

// misstep runs the built binary on the lab's catalogues and parses its JSON output.
func (l *lab) misstep(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, "misstep", args...)
	cmd.Env = append(os.Environ(), "MISSTEP_HOME="+l.home)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, l.log
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && args[0] == "reproduce" {
		return fmt.Errorf("%w reproduced: see the output of misstep %s", errNothing, strings.Join(args[:2], " "))
	}
	if err != nil {
		return fmt.Errorf("misstep %s: %w", strings.Join(args[:2], " "), err)
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		return fmt.Errorf("read the command's JSON: %w", err)
	}
	return nil
}
