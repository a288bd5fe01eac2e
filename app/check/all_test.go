package check

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/app/local"
	"misstep/internal/regular"
	"misstep/internal/testenv"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
	"misstep/runner/process"
)

// none are the known bugs of callers who have none of their own.
var none known.Catalogue

func TestToolOptions(t *testing.T) {
	args := []string{"-XX:+X", "-agentpath:/my folder/lib.so=out=/x"}
	assert.Equal(t, []string{"A=b", `JAVA_TOOL_OPTIONS=-XX:+X "-agentpath:/my folder/lib.so=out=/x"`},
		withToolOptions([]string{"A=b"}, args))
	assert.Equal(t, []string{"A=b", "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+X"},
		withToolOptions([]string{"JAVA_TOOL_OPTIONS=-Xmx1g", "A=b"}, args[:1]), "what the program has there stays")
}

func one(pid int, version string, o *misstepv1.Outcome) examined {
	side := jvm.Alongside{Recipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Version: version}}}
	return examined{report: report(nil, pid, side, o, none), outcome: o, side: side}
}

func counted(match, mismatch uint64) []*misstepv1.CheckCount {
	return []*misstepv1.CheckCount{
		{Check: recipe.AsgctGstBracket, Total: match + mismatch + 1, Match: match, Mismatch: mismatch, Void: map[string]uint64{"lost": 1}},
	}
}

func TestJVMsAreSummedUp(t *testing.T) {
	cut := &misstepv1.Mismatch{
		Check: recipe.AsgctGstBracket, Kind: "truncated", Count: 2, Divergence: 1,
		Reference: trace("gst", "b", "a"), Suspect: trace("asgct", "b"),
	}
	short := &misstepv1.Outcome{Checks: counted(0, 0), Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Reason: "too short"}
	long := &misstepv1.Outcome{
		Checks: counted(6, 2), Mismatches: []*misstepv1.Mismatch{cut}, Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
	}
	r := merged([]examined{one(1, "17", short), one(2, "17", long)}, nil, process.Result{ExitCode: 5}, none)
	assert.Equal(t, "mismatches", r.Outcome)
	assert.Equal(t, 5, r.ExitCode)
	require.Len(t, r.JVMs, 2)
	assert.Equal(t, "void", r.JVMs[0].Outcome)
	require.Len(t, r.Checks, 1)
	assert.Equal(t, Count{
		Check: recipe.AsgctGstBracket, Total: 10, Match: 6, Mismatch: 2, Void: map[string]uint64{"lost": 2},
	}, r.Checks[0])
	require.Len(t, r.Bugs, 1)
	assert.InEpsilon(t, 0.25, r.Bugs[0].CutOff, 1e-9)
	assert.Equal(t, "17", r.JDK.Version)

	two := []examined{one(1, "17", short), one(2, "21", &misstepv1.Outcome{Checks: counted(6, 0)})}
	r = merged(two, nil, process.Result{}, none)
	assert.Equal(t, "clean", r.Outcome, "a short JVM does not make all of it void")
	assert.Equal(t, "several JDKs", r.JDK.Version)
	r = merged([]examined{one(1, "17", short)}, nil, process.Result{}, none)
	assert.False(t, r.Proved())
	assert.Equal(t, "too short", r.Reason, "a single JVM says why itself")
	r = merged(nil, nil, process.Result{}, none)
	assert.False(t, r.Proved())
	assert.Contains(t, r.Reason, "no JVM loaded the agent")
}

// What is a known bug of one JVM's JDK is none of another's; no crash hides another.
func TestFindingsAreThoseOfEachJVMsJDK(t *testing.T) {
	wrong := &misstepv1.Mismatch{
		Check: recipe.AsgctShadow, Kind: "wrong-method", Count: 3, Divergence: 1,
		Reference: trace("shadow", "b", "a"), Suspect: trace("asgct", "x", "a"),
	}
	crashed := func(frame string) *misstepv1.Outcome {
		return &misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Checks: counted(1, 0),
			Crash: &misstepv1.Crash{
				Error: "Internal Error (codeCache.cpp:654)", ProblematicFrame: frame,
				Detail: "guarantee(is_result_safe || is_in_asgct()) failed: unsafe access to zombie method",
			},
		}
	}
	found := func() *misstepv1.Outcome {
		return &misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Mismatches: []*misstepv1.Mismatch{wrong},
			Checks: []*misstepv1.CheckCount{{Check: recipe.AsgctShadow, Total: 12, Match: 9, Mismatch: 3}},
		}
	}
	const zombie = "V  [libjvm.so+0x5]  CodeCache::find_blob(void*)+0x1"
	for _, versions := range [][]string{{"17.0.15", "25.0.3"}, {"25.0.3", "17.0.15"}} {
		both := []examined{one(1, versions[0], crashed(zombie)), one(2, versions[1], crashed(zombie))}
		r := merged(both, nil, process.Result{}, none)
		require.Len(t, r.Bugs, 2, versions)
		labels := map[string]bool{r.Bugs[0].ID: r.Bugs[0].Known, r.Bugs[1].ID: r.Bugs[1].Known}
		assert.True(t, labels["JDK-8352649"], "%v: %v", versions, labels)
		assert.True(t, r.New(), "25 does not have that bug: %v", versions)
	}
	const other = "V  [libjvm.so+0x9]  PhaseIdealLoop::build(int)+0x1"
	r := merged([]examined{one(1, "25.0.3", crashed(zombie)), one(2, "25.0.3", crashed(other))}, nil, process.Result{}, none)
	assert.Len(t, r.Bugs, 2, "two crashes")

	r = merged([]examined{one(1, "17.0.15", found()), one(2, "25.0.3", found())}, nil, process.Result{}, none)
	require.Len(t, r.Bugs, 1, "the same on both")
	assert.EqualValues(t, 6, r.Bugs[0].Count)
	assert.Len(t, r.Bugs[0].Findings, 1)
	assert.InEpsilon(t, 0.25, r.Bugs[0].Wrong, 1e-9, "of the samples of both")
}

func TestFoldersThatAreNotTheAgents(t *testing.T) {
	dir := t.TempDir()
	artefacts := filepath.Join(dir, "agent-artefacts")
	write(t, filepath.Join(artefacts, agent.LibraryName))
	write(t, filepath.Join(artefacts, agent.JarName))
	i := local.Installation{Home: filepath.Join(dir, "home"), AgentDir: artefacts}
	_, err := Left(t.Context(), i, dir, nil)
	require.ErrorContains(t, err, "has no agent/jvm.txt of the agent")

	about := filepath.Join(dir, "seen", jvm.AgentDir, agent.FileAbout)
	write(t, about)
	_, err = Left(t.Context(), i, filepath.Join(dir, "seen"), nil)
	require.ErrorContains(t, err, "was cut off")

	text := "pid=7\nversion=OpenJDK (17)\nhome=/none\ncommand=Main\noptions=out=/x,gst-asgct=0,shadow-gst=0,asgct-shadow=0\n"
	require.NoError(t, os.WriteFile(about, []byte(text), 0o600))
	r, err := Left(t.Context(), i, filepath.Join(dir, "seen"), nil)
	require.NoError(t, err)
	assert.False(t, r.Proved(), "the agent left no flight record")
	require.Len(t, r.Checks, 1)
	assert.Equal(t, recipe.Liveness, r.Checks[0].Check)
	assert.Equal(t, -1, r.ExitCode)

	write(t, filepath.Join(dir, "seen", FileRecipe))
	_, err = Left(t.Context(), i, filepath.Join(dir, "seen"), nil)
	require.ErrorContains(t, err, "recipe.json")
}

// One JVM whose files cannot be read loses none of the others' results; without any there is no proof.
func TestJVMsThatCannotBeExaminedAreNoted(t *testing.T) {
	dir := t.TempDir()
	artefacts := filepath.Join(dir, "agent-artefacts")
	write(t, filepath.Join(artefacts, agent.LibraryName))
	write(t, filepath.Join(artefacts, agent.JarName))
	i := local.Installation{Home: filepath.Join(dir, "home"), AgentDir: artefacts}
	seen := filepath.Join(dir, "seen")
	about := func(name string) string { return filepath.Join(seen, name, jvm.AgentDir, agent.FileAbout) }
	write(t, about("6")) // cut off
	r, err := Left(t.Context(), i, seen, nil)
	require.NoError(t, err)
	assert.False(t, r.Proved())
	assert.Equal(t, "no JVM could be examined: the notes say why", r.Reason)
	require.Len(t, r.Notes, 1)
	assert.Contains(t, r.Notes[0], "JVM 6 could not be examined: ")
	assert.Contains(t, r.Notes[0], "was cut off")

	write(t, about("7"))
	text := "pid=7\nversion=OpenJDK (17)\nhome=/none\ncommand=Main\noptions=out=/x,gst-asgct=0,shadow-gst=0,asgct-shadow=0\n"
	require.NoError(t, os.WriteFile(about("7"), []byte(text), 0o600))
	r, err = Left(t.Context(), i, seen, nil)
	require.NoError(t, err)
	require.Len(t, r.JVMs, 1)
	assert.Equal(t, 7, r.JVMs[0].PID)
	assert.Contains(t, r.Notes[0], "JVM 6 could not be examined: ")

	e, err := executor(i, seen, nil)
	require.NoError(t, err)
	list, lost, err := examiner{Executor: e}.examineAll(t.Context(), seen, 1)
	require.NoError(t, err)
	assert.Empty(t, list)
	require.Len(t, lost, 2)
	assert.Equal(t, "1 further JVMs were not examined: at most 1 are", lost[1])
}

// A JVM that crashed is found by the error file of its process, where Run looks too; that of another process, or of before, is not.
func TestCrashesOfEveryJVMAreFound(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	t.Chdir(work)
	t.Setenv(toolOptions, "")
	artefacts := filepath.Join(dir, "agent-artefacts")
	write(t, filepath.Join(artefacts, agent.LibraryName))
	write(t, filepath.Join(artefacts, agent.JarName))
	i := local.Installation{Home: filepath.Join(dir, "home"), AgentDir: artefacts}
	script := filepath.Join(dir, "script.sh")
	text := `#!/bin/sh
for pid in 4000001 4000002; do
	mkdir -p "$1/$pid/agent"
	printf 'pid=%s\nversion=OpenJDK (17.0.15)\nhome=/none\ncommand=Main\noptions=out=/x\n' $pid > "$1/$pid/agent/jvm.txt"
done
cp "$2" hs_err_pid4000002.log
`
	require.NoError(t, os.WriteFile(script, []byte(text), 0o755))
	o := Options{
		Installation: i, Out: filepath.Join(dir, "seen"), Selection: Selection{Ratio: 1},
		Command: []string{
			script, filepath.Join(dir, "seen"), filepath.Join(testenv.Root(), "internal", "hserr", "testdata", "jdk17-compiler.log"),
		},
	}
	r, err := RunAll(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, "crash", r.Outcome)
	require.Len(t, r.JVMs, 2)
	assert.NotEqual(t, "crash", r.JVMs[0].Outcome)
	assert.Equal(t, "crash", r.JVMs[1].Outcome)
	assert.Equal(t, []string{"crash"}, r.Bugs[0].Kinds)
	require.FileExists(t, "hs_err_pid4000002.log", "the error file is where it always is")
}

// A folder is found by its name, whatever that has of a pattern, and what is no file of the agent is not waited for.
func TestFolderWithTheNameOfAPattern(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a]*")
	file := filepath.Join(dir, "4711", jvm.AgentDir, agent.FileAbout)
	write(t, file)
	names, err := jvmsIn(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{file}, names)

	of := filepath.Join(dir, "4711")
	require.NoError(t, os.WriteFile(file, []byte("home=/x\noptions=edges=1\n"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(of, FileRecipe), 0o600))
	_, _, err = sideOf(of)
	require.ErrorIs(t, err, regular.ErrOther)
}

// A bug of the caller's own labels what is new otherwise, and only that.
func TestOwnKnownBugsLabelFindings(t *testing.T) {
	o := &misstepv1.Outcome{
		Checks: []*misstepv1.CheckCount{{Check: recipe.AsgctShadow, Total: 12, Match: 9, Mismatch: 3}},
		Mismatches: []*misstepv1.Mismatch{{
			Check: recipe.AsgctShadow, Kind: "wrong-method", Count: 3, Divergence: 1,
			Reference: trace("shadow", "b", "a"), Suspect: trace("asgct", "x", "a"),
		}},
	}
	side := jvm.Alongside{Recipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Version: "25.0.3"}}}
	require.True(t, report(nil, 1, side, o, none).New())
	for kind, want := range map[string]bool{"wrong-method": true, "foreign": false} {
		own, err := known.ParseOwn([]byte(
			"- {id: PROJ-12, title: ours, matches: [{kind: mismatch, parts: [asgct-shadow, " + kind + "]}]}"))
		require.NoError(t, err)
		catalogue, err := known.Own(own)
		require.NoError(t, err)
		r := report(nil, 1, side, o, catalogue)
		assert.Equal(t, !want, r.New(), kind)
		if want {
			assert.Equal(t, "PROJ-12", r.Bugs[0].ID)
			assert.Equal(t, "ours", r.Bugs[0].Title)
		}
	}
}
