package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"misstep/agent"
	"misstep/bundle"
	"misstep/coordinator/triage"
	"misstep/corpus"
	"misstep/corpus/memory"
	"misstep/deploy/jdk"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/guest"
	"misstep/runner/jvm"
	"misstep/workloads"
)

type replayCommand struct {
	trust
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
	JDK    string `name:"jdk" help:"JDK to run on: a folder or a name of the catalogue (default: the bundle's build when it is in the catalogue, else $$JAVA_HOME, else java on the PATH)." placeholder:"PATH"`
	Tries  uint32 `help:"How often to try." default:"10" placeholder:"N"`

	Executor  string `help:"Where to run instead of where the recipe says: host, vm or vm-deterministic." enum:",host,vm,vm-deterministic" default:""`
	Record    string `help:"Record the machine of the first try that reproduces into this new folder; executor vm-deterministic." type:"path" placeholder:"DIR"`
	Recording bool   `help:"Repeat the recorded machine that the bundle carries, byte for byte, instead of trying."`
	GDB       string `name:"gdb" help:"With --recording: wait for a debugger at this address of qemu before the first instruction." placeholder:"tcp:127.0.0.1:1234"`

	JSON bool `help:"Print {bundle, finding, jdk, hits, tries, low, high, reproduced, others, same_schedule}."`
}

// replayResult is what `misstep replay --json` prints. Tries counts runs that could have shown the finding: not the void ones.
type replayResult struct {
	Bundle     string         `json:"bundle"`
	Finding    string         `json:"finding"`
	JDK        string         `json:"jdk"`
	Hits       int            `json:"hits"`
	Tries      int            `json:"tries"`
	Low        float64        `json:"low"` // of the 95 % Wilson interval of hits/tries
	High       float64        `json:"high"`
	Reproduced bool           `json:"reproduced"`
	Others     map[string]int `json:"others"` // other outcomes by finding id or kind
	// SameSchedule counts tries whose threads were perturbed by the very decisions of the bundle's schedule.log, byte for byte; nil when
	// there is nothing to compare, or the machine's time was not virtual.
	SameSchedule *int `json:"same_schedule,omitempty"`

	trouble string // why the last void try proved nothing
}

// Run repeats a finding: exit 0 reproduced, 1 not reproduced, 2 could not run.
func (c *replayCommand) Run(ctx context.Context, e *env) error {
	if c.Tries == 0 {
		return errors.New("--tries: want at least 1")
	}
	if err := c.machine(); err != nil {
		return err
	}
	// A replay runs the bundle's program, so whose it is comes first.
	if _, err := c.check(c.Bundle); err != nil {
		return err
	}
	b, err := bundle.Open(c.Bundle)
	if err != nil {
		return err
	}
	defer b.Close()
	scratch, err := os.MkdirTemp("", "misstep-replay-")
	if err != nil {
		return fmt.Errorf("make scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o711); err != nil { // JVMs of another user pass through
		return fmt.Errorf("make scratch folder: %w", err)
	}
	finding := b.Reproducer().GetFinding()
	result := &replayResult{Bundle: c.Bundle, Finding: finding.GetId(), JDK: b.Reproducer().GetRecipe().GetJdk().GetVersion(), Others: map[string]int{}}
	if c.Recording {
		outcome, err := c.replayRecording(ctx, e, b, scratch)
		if err != nil {
			return fmt.Errorf("replay %s: %w", c.Bundle, err)
		}
		result.count(outcome, shows(finding))
	} else if err := c.try(ctx, e, b, result, scratch); err != nil {
		return fmt.Errorf("replay %s: %w", c.Bundle, err)
	}
	result.Low, result.High = interval.Wilson(uint64(result.Hits), uint64(result.Tries))
	result.Reproduced = result.Hits > 0
	if c.JSON {
		err = e.json(result)
	} else {
		err = result.print(e, finding)
	}
	switch {
	case err != nil:
		return err
	case result.Tries == 0:
		return &exitError{code: exitCannot, err: result.allVoid()}
	case !result.Reproduced:
		return &exitError{code: exitFound}
	}
	return nil
}

// machine checks the flags about machines. A hit may take hours to come: where its recording cannot be kept is said before.
func (c *replayCommand) machine() error {
	switch {
	case c.GDB != "" && !c.Recording:
		return errors.New("--gdb: want --recording, too: a debugger is for the recorded machine")
	case c.Record == "":
		return nil
	case c.Recording:
		return errors.New("--record, --recording: want one of them, a new recording or the bundle's own")
	}
	if _, err := os.Lstat(c.Record); err == nil {
		return fmt.Errorf("--record %s: it is there already, want a new folder", c.Record)
	}
	if info, err := os.Stat(filepath.Dir(c.Record)); err != nil || !info.IsDir() {
		return fmt.Errorf("--record %s: there is no folder %s", c.Record, filepath.Dir(c.Record))
	}
	return nil
}

// try runs the recipe as often as is asked for.
func (c *replayCommand) try(ctx context.Context, e *env, b *bundle.Bundle, result *replayResult, scratch string) error {
	replay, err := e.prepareReplay(ctx, b, c.JDK, scratch)
	if err != nil {
		return err
	}
	result.JDK = replay.version
	if c.Executor != "" {
		replay.recipe.Executor = c.Executor
	}
	recorded := ""
	if replay.recipe.GetExecutor() == guest.Deterministic && !bundle.FreshSeeds(b.Reproducer()) { // other seeds take other decisions
		if recorded = scheduleOf(b.Reproducer().GetEvidence()); recorded != "" {
			result.SameSchedule = new(int)
		}
	}
	shown := shows(b.Reproducer().GetFinding())
	recorder := &recorder{env: e, host: replay.host, scratch: scratch, keep: c.Record}
	for try := range c.Tries {
		executor, err := recorder.next()
		if err != nil {
			return err
		}
		outcome, err := executor.Run(ctx, ofTry(b.Reproducer(), replay.recipe, try), nil)
		if err != nil {
			return fmt.Errorf("try %d: %w", try+1, err)
		}
		hit := result.count(outcome, shown)
		same := ""
		if recorded != "" && scheduleOf(outcome.GetEvidence()) == recorded {
			*result.SameSchedule++
			same = ", by the same decisions as in the bundle's " + jvm.FileSchedule
		}
		fmt.Fprintf(e.stderr, "try %d of %d: %s%s\n", try+1, c.Tries, map[bool]string{true: "reproduced", false: kindName(outcome.GetKind())}[hit], same)
		if hit {
			if err := recorder.hit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofTry is the recipe of a try, counted from 0, as run.sh would have it.
func ofTry(r *misstepv1.Reproducer, recipe *misstepv1.Recipe, try uint32) *misstepv1.Recipe {
	recipe = proto.CloneOf(recipe)
	if bundle.FreshSeeds(r) {
		recipe.Seed += uint64(try) + 1
	}
	return recipe
}

// scheduleOf returns the digest of the schedule log among evidence, or nothing.
func scheduleOf(evidence []*misstepv1.Evidence) string {
	for _, x := range evidence {
		if x.GetName() == jvm.FileSchedule {
			return x.GetDigest()
		}
	}
	return ""
}

// shows tells which hits are a finding's: of its own signature, of what was merged into it, or, where an older version of triage wrote the
// signature, of the one that its example has today. Otherwise the bug would look fixed.
func shows(f *misstepv1.Finding) func(triage.Hit) bool {
	is := func(h triage.Hit) bool {
		return proto.Equal(h.Signature, f.GetSignature()) || h.ID == f.GetId() || slices.Contains(f.GetAliases(), h.ID)
	}
	today := triage.Triage(f.GetExample())
	if slices.ContainsFunc(today, is) {
		return is
	}
	today = slices.DeleteFunc(today, func(h triage.Hit) bool { return h.Signature.GetKind() != f.GetSignature().GetKind() })
	if len(today) != 1 { // it cannot be told which
		return is
	}
	return func(h triage.Hit) bool { return is(h) || h.ID == today[0].ID }
}

// count files one outcome under hit, other or void, and says whether it was a hit: shown tells which are the finding's.
func (r *replayResult) count(outcome *misstepv1.Outcome, shown func(triage.Hit) bool) bool {
	hit := false
	for _, found := range triage.Triage(outcome) {
		if shown(found) {
			hit = true
		} else {
			r.Others[found.ID]++
		}
	}
	if hit {
		r.Hits++
	}
	if !hit && triage.Void(outcome) {
		r.Others["void"]++
		r.trouble = outcome.GetReason()
		return false
	}
	r.Tries++
	if k := outcome.GetKind(); k == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE {
		r.Others[kindName(k)]++
	}
	return hit
}

// allVoid is the error for when there were void tries only.
func (r *replayResult) allVoid() error {
	return fmt.Errorf("no try proved anything: every one was void, the last as %s", cmp.Or(r.trouble, "nothing was compared"))
}

func (r *replayResult) print(e *env, f *misstepv1.Finding) error {
	known := misstepv1.KnownText(f)
	if known != "" {
		known = ", known as " + known
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(r.Others)) {
		others = append(others, fmt.Sprintf("%s %d times", name, r.Others[name]))
	}
	verdict := map[bool]string{true: "reproduced", false: "not reproduced"}[r.Reproduced]
	_, err := fmt.Fprintf(e.stdout, "%s: %d of %d tries (95 %% interval %.2f–%.2f) on %s\n%s: %s%s\n", verdict, r.Hits, r.Tries, r.Low, r.High,
		r.JDK, f.GetId(), f.GetTitle(), known)
	if err == nil && r.SameSchedule != nil {
		_, err = fmt.Fprintf(e.stdout, "%d of %d tries took the decisions of the bundle's %s, byte for byte\n", *r.SameSchedule, r.Tries, jvm.FileSchedule)
	}
	if err == nil && len(others) > 0 {
		_, err = fmt.Fprintf(e.stdout, "seen besides: %s\n", strings.Join(others, ", "))
	}
	return err
}

// replay is a bundle unpacked and a JDK chosen: ready to run.
type replay struct {
	host    *jvm.Executor
	recipe  *misstepv1.Recipe
	version string
}

func (e *env) prepareReplay(ctx context.Context, b *bundle.Bundle, jdkOption, scratch string) (*replay, error) {
	if err := b.Extract(filepath.Join(scratch, "bundle")); err != nil {
		return nil, err
	}
	dir := filepath.Join(scratch, "bundle")
	manifest, err := workloads.Load(filepath.Join(dir, "workload"))
	if err != nil {
		return nil, err
	}
	artefacts, err := agent.Find(filepath.Join(dir, "agent"))
	if err != nil {
		return nil, err
	}
	recipe := proto.CloneOf(b.Reproducer().GetRecipe())
	entry, err := e.chooseJdk(ctx, jdkOption, recipe.GetJdk(), scratch)
	if err != nil {
		return nil, err
	}
	recipe.Jdk = &misstepv1.Jdk{Name: entry.Name, Digest: entry.Digest.String(), Version: entry.Version}
	return &replay{
		recipe:  recipe,
		version: entry.Version,
		host: &jvm.Executor{
			JDK: func(context.Context, *misstepv1.Jdk) (string, int, error) { return entry.Path, entry.Feature, nil },
			Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
				return filepath.Join(dir, "workload"), manifest, nil
			},
			Agent:      artefacts,
			Corpus:     memory.New(),
			Scratch:    filepath.Join(scratch, "trials"),
			PatchCache: filepath.Join(scratch, "patch"),
			Perturbers: perturbers(),
			Credential: ordinary(),
		},
	}, nil
}

// jdkOf returns the JDK of the catalogue with this digest, if the text is one.
func (e *env) jdkOf(digest string) (jdk.Entry, bool) {
	d, err := corpus.ParseDigest(digest)
	if err != nil {
		return jdk.Entry{}, false
	}
	return e.jdks().ByDigest(d)
}

// chooseJdk finds the JDK to replay on; a folder is examined as if it were added to a catalogue in scratch.
func (e *env) chooseJdk(ctx context.Context, option string, wanted *misstepv1.Jdk, scratch string) (jdk.Entry, error) {
	inspect := func(dir string) (jdk.Entry, error) {
		return jdk.Open(filepath.Join(scratch, "home")).Add(ctx, "replay", dir, jdk.AddOptions{})
	}
	if option != "" {
		if entry, err := e.jdks().Get(option); err == nil {
			return entry, nil
		}
		return inspect(option)
	}
	if entry, ok := e.jdkOf(wanted.GetDigest()); ok {
		return entry, nil
	}
	if dir := os.Getenv("JAVA_HOME"); dir != "" {
		return inspect(dir)
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return jdk.Entry{}, errors.New("no JDK: give one with --jdk PATH, or set JAVA_HOME")
	}
	if java, err = filepath.EvalSymlinks(java); err != nil {
		return jdk.Entry{}, fmt.Errorf("find the JDK of java on the PATH: %w", err)
	}
	return inspect(filepath.Dir(filepath.Dir(java)))
}
