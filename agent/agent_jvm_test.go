package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
)

// jvm is one JDK that the tests run on.
type jvm struct {
	feature int
	home    string
	// version is the output of -Xinternalversion, known only for JDKs of the catalogue.
	version string
}

func (j jvm) String() string { return fmt.Sprintf("jdk%d", j.feature) }

// jvms returns an installed JDK of each of the feature versions 17 and 25; it skips the test where there is neither.
func jvms(t *testing.T) []jvm {
	t.Helper()
	var found []jvm
	for _, feature := range []int{17, 25} {
		homes, err := filepath.Glob(fmt.Sprintf("/usr/lib/jvm/*%d*", feature))
		require.NoError(t, err)
		for _, home := range homes {
			if _, err := os.Stat(filepath.Join(home, "bin", "javac")); err == nil {
				found = append(found, jvm{feature: feature, home: home})
				break
			}
		}
	}
	if len(found) == 0 {
		t.Skip("no JDK 17 or 25 with a compiler below /usr/lib/jvm")
	}
	return found
}

// catalogued returns the JDKs of the catalogue, from 8 on; it skips the test where the catalogue is empty.
func catalogued(t *testing.T) []jvm {
	t.Helper()
	home := os.Getenv("MISSTEP_HOME")
	if home == "" {
		home = filepath.Join("..", "build", "home")
	}
	records, err := filepath.Glob(filepath.Join(home, "jdks", "*.json"))
	require.NoError(t, err)
	if len(records) == 0 {
		t.Skip("the catalogue is not filled; run make catalogue")
	}
	var found []jvm
	for _, record := range records {
		data, err := os.ReadFile(record)
		require.NoError(t, err)
		var j struct {
			Path    string
			Feature int
			Version string
		}
		require.NoError(t, json.Unmarshal(data, &j))
		found = append(found, jvm{j.Feature, j.Path, j.Version})
	}
	return found
}

// features returns one JDK of each feature version in the catalogue, for what no two builds of one version differ in.
func features(t *testing.T) []jvm {
	t.Helper()
	all := catalogued(t)
	slices.SortStableFunc(all, func(a, b jvm) int { return cmp.Compare(a.feature, b.feature) })
	return slices.CompactFunc(all, func(a, b jvm) bool { return a.feature == b.feature })
}

// built returns the agent that `make agent` built.
func built(t *testing.T) Artefacts {
	t.Helper()
	a, err := Find(filepath.Join("..", "build", "agent"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the agent is not built: %v", err)
	}
	require.NoError(t, err)
	return a
}

var programs struct {
	sync.Once
	dir string
	err error
}

// classes compiles test/programs once, with the oldest JDK found, and returns the folder of the classes.
func classes(t *testing.T) string {
	t.Helper()
	programs.Do(func() {
		programs.dir, programs.err = os.MkdirTemp("", "misstep-agent-classes-*") //nolint:usetesting // shared: TestMain removes it
		if programs.err != nil {
			return
		}
		sources, err := filepath.Glob(filepath.Join("test", "programs", "*.java"))
		if err != nil {
			programs.err = err
			return
		}
		javac := filepath.Join(jvms(t)[0].home, "bin", "javac")
		output, err := exec.Command(javac, append([]string{"--release", "17", "-d", programs.dir}, sources...)...).CombinedOutput()
		if err != nil {
			programs.err = fmt.Errorf("compile the test programs: %w: %s", err, output)
			return
		}
		// These programs run on older JDKs, too.
		older := []string{"--release", "8", "-d", programs.dir}
		for _, name := range []string{
			"Span", "Churn", "Deoptimised", "Linked", "Inlined", "Unloaded", "Redefined", "Searched", "Compressed", "Rare",
			"RedefinedOne", "RedefinedTwo", "RedefinedLeaf",
		} {
			older = append(older, filepath.Join("test", "programs", name+".java"))
		}
		output, err = exec.Command(javac, older...).CombinedOutput()
		if err != nil {
			programs.err = fmt.Errorf("compile a test program for 8: %w: %s", err, output)
			return
		}
		// Programs with virtual threads are compiled by the newest JDK, if it has them.
		newest := jvms(t)[len(jvms(t))-1]
		if newest.feature >= 21 {
			javac = filepath.Join(newest.home, "bin", "javac")
			source := filepath.Join("test", "programs21", "Virtual.java")
			descent := filepath.Join("test", "programs21", "Descent.java")
			output, err := exec.Command(javac, "--release", "21", "-cp", programs.dir, "-d", programs.dir, source,
				descent).CombinedOutput()
			if err != nil {
				programs.err = fmt.Errorf("compile the test programs for 21: %w: %s", err, output)
			}
		}
	})
	require.NoError(t, programs.err)
	return programs.dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// mismatch has the fields of a record that the tests look at.
type mismatch struct {
	Check, Kind, Thread, TopState, Count, Sequence string
	DeoptimisedCaller                              struct{ ClassName, Method string }
	Code, ReturnCode                               []byte
	ReturnState                                    string
	ReturnCopied                                   bool
	Divergence                                     int
	Reference, Suspect                             struct {
		Source string
		Frames []struct {
			ClassName, Method, Descriptor string
			Bci                           int
		}
	}
}

// sample reports whether the walk was made in a signal handler and judged by asgct-shadow or edges.
func (m mismatch) sample() bool {
	return m.Check != "gst-asgct" && m.Suspect.Source == "asgct" && len(m.Code) > 0
}

// boundary names the reference frame at the divergence.
func (m mismatch) boundary() string {
	at := len(m.Reference.Frames) - 1 - m.Divergence
	if at < 0 || at >= len(m.Reference.Frames) {
		return ""
	}
	return m.Reference.Frames[at].ClassName + "." + m.Reference.Frames[at].Method
}

// result is the outcome of one run.
type result struct {
	output     string
	err        error
	status     Status
	mismatches []mismatch
}

func (r result) check(name string) CheckCount {
	for _, c := range r.status.Checks {
		if c.Name == name {
			return c
		}
	}
	return CheckCount{}
}

// run runs a program under the agent. The status and the records are read however it ends; requireSound asserts a clean end.
func run(t *testing.T, j jvm, o Options, flags []string, program ...string) result {
	t.Helper()
	return runWith(t, built(t), j, o, flags, program...)
}

// runWith is run with a given agent.
func runWith(t *testing.T, a Artefacts, j jvm, o Options, flags []string, program ...string) result {
	t.Helper()
	return runUntil(t, a, j, o, nil, flags, program...)
}

// runUntil is runWith for a program whose time ends (Span.java) when what was checked until then is enough; nil leaves it its time.
func runUntil(t *testing.T, a Artefacts, j jvm, o Options, enough func(result) bool, flags []string, program ...string) result {
	t.Helper()
	java := filepath.Join(j.home, "bin", "java")
	cache, err := filepath.Abs(filepath.Join("..", "build", "agent-test-cache"))
	require.NoError(t, err)
	patch, err := Prepare(t.Context(), a, java, j.feature, cache, fmt.Sprintf("%016d", j.feature))
	require.NoError(t, err)
	if o.Out == "" {
		o.Out = t.TempDir()
	}
	if o.Ratio == 0 && o.NeedsMethods() {
		o.Ratio = 1
	}
	args, err := JVMArgs(a, patch, j.feature, o)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	all := append(append(append([]string{}, flags...), args...), "-cp", classes(t))
	cmd := exec.CommandContext(ctx, java, append(all, program...)...)
	cmd.Dir = o.Out
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	require.NoError(t, cmd.Start())
	if enough != nil {
		defer endWhen(o.Out, enough)()
	}
	err = cmd.Wait()
	r := result{output: output.String(), err: err}
	if r.status, err = ReadStatus(filepath.Join(o.Out, "status.bin")); err != nil && r.err == nil {
		require.NoError(t, err)
	}
	lines, err := os.ReadFile(filepath.Join(o.Out, "mismatches.jsonl"))
	if err == nil {
		for line := range strings.Lines(string(lines)) {
			var m mismatch
			require.NoErrorf(t, json.Unmarshal([]byte(line), &m), "record %q", line)
			r.mismatches = append(r.mismatches, m)
		}
	}
	return r
}

// endWhen looks at the flight record that a JVM writes into a folder, and lets the program's Span end when that is enough. The
// function returned ends the looking.
func endWhen(out string, enough func(result) bool) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(50 * time.Millisecond); ; { // polls a file that another process maps
			select {
			case <-ended:
				tick.Stop()
				return
			case <-tick.C:
				if s, err := ReadStatus(filepath.Join(out, "status.bin")); err == nil && enough(result{status: s}) {
					_ = os.WriteFile(filepath.Join(out, "enough"), nil, 0o644)
				}
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// spent is the time in which a program is given up that has not been checked enough.
const spent = "60"

// answered is enough for tests that need samples of a check, whatever they show.
func answered(check string, least uint64) func(result) bool {
	return func(r result) bool { return r.check(check).Total >= least }
}

// requireSound asserts that the JVM ended well and that every verdict is accounted for.
func requireSound(t *testing.T, r result) {
	t.Helper()
	require.NoError(t, r.err, r.output)
	require.True(t, r.status.Started)
	require.True(t, r.status.Ended)
	for _, c := range r.status.Checks {
		require.Equalf(t, c.Total, c.Verdicts(), "verdicts of %s: %+v", c.Name, c)
		known, _ := recipe.FindCheck(c.Name)
		require.Subsetf(t, known.Rules, slices.Collect(maps.Keys(c.Tolerated)), "rules of %s in recipe/checks.go", c.Name)
		require.Subsetf(t, known.Reasons, slices.Collect(maps.Keys(c.Void)), "reasons of %s in recipe/checks.go", c.Name)
	}
	require.Equal(t, r.status.Sent, r.check("asgct-shadow").Total+r.check("asgct-gst-bracket").Total+r.status.Seconds)
	require.LessOrEqual(t, r.status.Delivered, r.status.Sent)
	require.LessOrEqual(t, r.status.Answered, r.status.Delivered)
}

func allChecks(share float64) map[string]float64 {
	return map[string]float64{"gst-asgct": share, "shadow-gst": share, "asgct-shadow": 1, "edges": 1, "liveness": 1}
}

// No rule tolerates a mismatch of checks at entries in this program: a mismatch is a bug of the JVM or of the agent.
func TestEveryCheckWorksAndEntryChecksAreQuiet(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			seconds := 4.0
			o := Options{Seed: 1, Checks: allChecks(0.0005), Interval: time.Millisecond}
			r := run(t, j, o, nil, "Mixed", fmt.Sprint(seconds), "1")
			requireSound(t, r)
			require.Contains(t, r.output, "mixed: verified")
			for _, c := range r.status.Checks {
				t.Logf("%+v", c)
				if allChecks(1)[c.Name] == 0 {
					require.Zerof(t, c.Total, "%s was not asked for", c.Name)
					continue
				}
				require.NotZerof(t, c.Total, "%s did nothing", c.Name)
				require.NotZerof(t, c.Match, "%s never matched", c.Name)
			}
			t.Logf("%d answered samples, %.0f a second of the program's own time", r.status.Answered,
				float64(r.status.Answered)/seconds)
			require.NotZero(t, r.status.Instrumented)
			for _, m := range r.mismatches {
				t.Logf("%s %s at %s (%s)", m.Check, m.Kind, m.boundary(), m.TopState)
				sampled := m.Check == "asgct-shadow" || m.Check == "edges" && m.Suspect.Source == "asgct" && len(m.Code) > 0
				require.True(t, sampled, "a false positive of an entry check")
			}
			require.Zero(t, r.check("liveness").Mismatch)
		})
	}
}

// compiled returns the flags with which the methods that a pattern names are compiled before their first call, and no others: to
// compile those of the JDK, too, takes longer than any of these programs.
func compiled(methods string, flags ...string) []string {
	return append(flags, "-Xcomp", "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,"+methods)
}

// JDK-8303444: in a class initialiser that compiled code triggered, ASGCT loses everything below the upcall.
func TestClinitUnderCompiledCodeIsFound(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := Options{Seed: 1, Include: []string{"Clinit*"}, Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1}}
			r := run(t, j, o, compiled("Clinit*::*"), "Clinit")
			requireSound(t, r)
			var found []mismatch
			for _, m := range r.mismatches {
				if m.Check == "gst-asgct" && m.boundary() == "Clinit$Lazy.<clinit>" {
					found = append(found, m)
				}
			}
			require.Len(t, found, 1, "%+v", r.mismatches)
			require.Equal(t, "truncated", found[0].Kind)
			require.Equal(t, len(found[0].Reference.Frames)-len(found[0].Suspect.Frames), found[0].Divergence)
			require.Equal(t, "Clinit.main", func() string {
				f := found[0].Reference.Frames
				return f[len(f)-1].ClassName + "." + f[len(f)-1].Method
			}())
			require.Zero(t, r.check("shadow-gst").Mismatch)
		})
	}
}

// The same program, interpreted, has no mismatches.
func TestClinitInterpretedIsQuiet(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := Options{Seed: 1, Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1}}
			r := run(t, j, o, []string{"-Xint"}, "Clinit")
			requireSound(t, r)
			require.NotZero(t, r.check("gst-asgct").Match)
			require.Empty(t, r.mismatches)
		})
	}
}

func TestThreadsThatStartAndEnd(t *testing.T) {
	for _, j := range jvms(t) {
		for _, end := range []string{"return", "exit", "halt"} {
			t.Run(j.String()+"/"+end, func(t *testing.T) {
				o := Options{
					Seed: 3, Checks: allChecks(0.001), Interval: 200 * time.Microsecond, Jitter: 0.5, Include: []string{"Churn*"},
				}
				r := runUntil(t, built(t), j, o, answered("asgct-shadow", 50), nil, "Churn", spent, end)
				requireSound(t, r)
				require.Contains(t, r.output, "churn: verified")
				require.NotZero(t, r.status.Sent)
			})
		}
	}
}

func TestTheSeedChoosesTheMethods(t *testing.T) {
	j := jvms(t)[0]
	count := func(seed uint64, ratio float64) uint64 {
		o := Options{Seed: seed, Ratio: ratio, Include: []string{"Mixed*"}, Checks: allChecks(0.01)}
		r := run(t, j, o, nil, "Mixed", "0", "1")
		requireSound(t, r)
		return r.status.Instrumented
	}
	all := count(1, 1)
	half := count(1, 0.5)
	require.Equal(t, half, count(1, 0.5))
	require.Less(t, half, all)
	require.NotZero(t, half)
}

func TestAnotherSignal(t *testing.T) {
	j := jvms(t)[0]
	o := Options{Seed: 1, Signal: "SIGRTMIN+5", Checks: map[string]float64{"asgct-shadow": 1}}
	r := runUntil(t, built(t), j, o, func(r result) bool { return r.status.Answered > 10 }, nil, "Mixed", spent, "2")
	requireSound(t, r)
	require.NotZero(t, r.status.Answered)
}

func TestTheJVMRefusesBadOptions(t *testing.T) {
	j := jvms(t)[0]
	a := built(t)
	out := t.TempDir()
	for options, says := range map[string]string{
		"out=" + out + ",frobnicate=1":     "unknown option frobnicate",
		"out=" + out + ",only=/absent":     "option only=/absent: cannot read it: No such file or directory",
		"out=" + out + ",interval=soon":    "option interval=soon: expected microseconds",
		"out=" + out + "/missing":          "expected an existing folder",
		"seed=1":                           "option out is missing",
		"out=" + out + ",seed=1,seed=2":    "given twice",
		"out=" + out + ",methods=0":        "contradicts",
		"out=" + out + ",signal=SIGSEGV":   "expected SIGPROF",
		"out=" + out + ",asgct-shadow=2":   "expected a share",
		"out=" + out + ",max-mismatches=0": "expected a number",
		"out=" + out + ",evidence=most":    "option evidence=most: expected distinct or every",
	} {
		cmd := exec.Command(filepath.Join(j.home, "bin", "java"), "-agentpath:"+a.Library+"="+options, "-version")
		output, err := cmd.CombinedOutput()
		require.Errorf(t, err, "the JVM started with %s", options)
		require.Contains(t, string(output), says)
		var lines []string
		for line := range strings.Lines(string(output)) {
			if strings.HasPrefix(line, "misstep: ") {
				lines = append(lines, line)
			}
		}
		require.Lenf(t, lines, 1, "one line for %s: %s", options, output)
		require.NotContains(t, string(output), "openjdk version")
	}
}

func TestAMissingPatchIsOneClearLine(t *testing.T) {
	j := jvms(t)[0]
	a := built(t)
	cmd := exec.Command(filepath.Join(j.home, "bin", "java"), "-agentpath:"+a.Library+"=out="+t.TempDir(), "-version")
	output, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "java.lang.Thread is not patched")
}

// A push checks for room in the buffer only when its countdown runs out. That is early enough without entry checks, with them, and
// when a new thread recurses deeply at once.
func TestNoPushExceedsTheBuffer(t *testing.T) {
	for _, j := range jvms(t) {
		if j.feature < 21 {
			continue
		}
		for _, share := range []float64{0, 0.001} {
			t.Run(fmt.Sprint(j, "/", share), func(t *testing.T) {
				o := Options{
					Seed: 1, Include: []string{"Descent*"}, Interval: time.Millisecond,
					Checks: map[string]float64{"asgct-shadow": 1, "shadow-gst": share},
				}
				r := run(t, j, o, []string{"-Xss2m"}, "Descent")
				requireSound(t, r)
				require.Contains(t, r.output, "descent: verified")
				require.Zero(t, r.check("shadow-gst").Mismatch, "%+v", r.mismatches)
				t.Logf("%+v %+v", r.check("asgct-shadow"), r.check("shadow-gst"))
			})
		}
	}
}

// Virtual threads have their own shadow stacks, which samples are compared with as well, with the carrier's below; and ASGCT misses
// the frames that a yield left in the heap, which is a known bug.
func TestVirtualThreads(t *testing.T) {
	for _, j := range jvms(t) {
		if j.feature < 21 {
			continue
		}
		o := Options{Seed: 1, Checks: allChecks(0.01), Interval: time.Millisecond}
		t.Run(j.String()+"/quiet", func(t *testing.T) {
			r := runUntil(t, built(t), j, o, func(r result) bool {
				return r.check("gst-asgct").Tolerated["virtual-thread"] > 0 &&
					r.status.VirtualJudged > 100 && r.check("shadow-gst").Match > 1_000
			}, nil, "Virtual", spent, "run")
			requireSound(t, r)
			require.NotZero(t, r.check("gst-asgct").Tolerated["virtual-thread"])
			require.NotZero(t, r.status.VirtualJudged)
			require.Greater(t, float64(r.status.VirtualJudged), 0.9*float64(r.status.Virtual), "%+v", r.check("asgct-shadow"))
			require.NotZero(t, r.check("shadow-gst").Match)
			require.Zero(t, r.check("shadow-gst").Mismatch, "%+v", r.mismatches)
		})
		t.Run(j.String()+"/yield", func(t *testing.T) {
			r := runUntil(t, built(t), j, o, func(r result) bool {
				return r.check("gst-asgct").Mismatch > 10 && r.check("shadow-gst").Match > 1_000 && r.status.VirtualCut > 10
			}, nil, "Virtual", spent, "yield")
			requireSound(t, r)
			require.NotZero(t, r.status.VirtualCut, "%+v", r.check("asgct-shadow"))
			require.Greater(t, float64(r.status.VirtualJudged), 0.9*float64(r.status.Virtual), "%+v", r.check("asgct-shadow"))
			require.Zero(t, r.check("shadow-gst").Mismatch, "%+v", r.mismatches)
			found := false
			for _, m := range r.mismatches {
				found = found || m.Check == "gst-asgct" && m.Kind == "truncated" && m.boundary() == "Virtual.deep"
			}
			require.True(t, found, "%+v", r.check("gst-asgct"))
		})
		return
	}
	t.Skip("no JDK 21 or later below /usr/lib/jvm")
}

// The flight record outlives the process.
func TestAKilledJVMLeavesItsFlightRecord(t *testing.T) {
	j := jvms(t)[0]
	a := built(t)
	java := filepath.Join(j.home, "bin", "java")
	cache, err := filepath.Abs(filepath.Join("..", "build", "agent-test-cache"))
	require.NoError(t, err)
	patch, err := Prepare(t.Context(), a, java, j.feature, cache, fmt.Sprintf("%016d", j.feature))
	require.NoError(t, err)
	out := t.TempDir()
	args, err := JVMArgs(a, patch, j.feature, Options{Out: out, Seed: 1, Ratio: 1, Checks: allChecks(0.01)})
	require.NoError(t, err)
	cmd := exec.Command(java, append(args, "-cp", classes(t), "Mixed", "300", "1")...)
	require.NoError(t, cmd.Start())
	path := filepath.Join(out, "status.bin")
	deadline := time.Now().Add(2 * time.Minute)
	for {
		s, err := ReadStatus(path)
		if err == nil && s.Answered > 10 && len(s.Threads) > 0 {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatalf("no samples: %+v, %v", s, err)
		}
		time.Sleep(20 * time.Millisecond) // polls a file that another process maps
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	s, err := ReadStatus(path)
	require.NoError(t, err)
	require.True(t, s.Started)
	require.False(t, s.Ended)
	require.Equal(t, uint32(cmd.Process.Pid), s.PID)
	require.NotZero(t, s.HeartbeatNanos)
	require.NotEmpty(t, s.Threads)
}

// No fence separates a push from its pop, or from the code between them (java.lang.MisstepShadow): C2 must nevertheless leave them
// in place, even in a leaf that it has inlined and that accesses no memory. If it dropped them or moved them together, the leaf
// would be on no shadow stack and most samples would be tolerated.
func TestPushAndPopStayAroundInlinedCode(t *testing.T) {
	for _, j := range features(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := Options{
				Seed: 1, Ratio: 1, Include: []string{"Inlined*"}, Checks: map[string]float64{"asgct-shadow": 1},
				Interval: 200 * time.Microsecond, Jitter: 0.5,
			}
			flags := []string{"-XX:-TieredCompilation", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"}
			enough := func(r result) bool { return r.check("asgct-shadow").Match > 1_000 }
			r := runUntil(t, built(t), j, o, enough, flags, "Inlined", spent)
			requireSound(t, r)
			c := r.check("asgct-shadow")
			var tolerated uint64
			for _, n := range c.Tolerated {
				tolerated += n
			}
			t.Logf("%d samples: %d matched, tolerated %v", c.Total, c.Match, c.Tolerated)
			require.Greater(t, c.Match, uint64(1_000))
			require.Less(t, 100*c.Mismatch, c.Match, "bugs of the JVM itself show in one of thousands of samples")
			require.Greater(t, c.Match, 2*tolerated)
		})
	}
}
