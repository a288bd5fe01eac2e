package bundle

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/hserr"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// benchJava stands for a JDK: it makes a patch jar when asked, and runs what the file "behaviour" beside it says with out set
// to the agent's folder and errors to the place of hs_err.
const benchJava = `#!/bin/bash
case $1 in
  -Xinternalversion) echo "Bench VM (21.0.1+1)"; exit 0 ;;
  -version) echo 'openjdk version "21.0.1" 2023-10-17' >&2; exit 0 ;;
  -cp) [ "$3" = misstep.agent.Patch ] && echo patched >"$4"; exit 0 ;;
esac
[ -z "$JAVA_TOOL_OPTIONS" ] || exit 9
for word in "$@"; do
  case $word in
    -agentpath:*) out=${word#*=out=}; out=${out%%,*} ;;
    -XX:ErrorFile=*) errors=${word#*=} ;;
  esac
done
last=$word
. "$JAVA_HOME/behaviour"
`

const (
	started  = "echo status >\"$out/status.bin\"\n"
	mismatch = started + `[ "$last" = "it's 5" ] && echo '{"check":"gst-asgct","kind":"truncated","method":"<clinit>"}' >"$out/mismatches.jsonl"` + "\n"
	crash    = started + `printf '#\n# Problematic frame:\n# V  [libjvm.so+0x8a]  frame::sender(RegisterMap*) const+0x10\n' >"$errors"; exit 134` + "\n"
)

func TestRunScript(t *testing.T) {
	crashed := func(c *Contents) {
		c.Reproducer.Finding.Signature = &misstepv1.Signature{Kind: "crash"}
		c.Reproducer.Finding.Example = &misstepv1.Outcome{
			Crash: &misstepv1.Crash{ProblematicFrame: "V  [libjvm.so+0x8a3f10]  frame::sender(RegisterMap*) const+0x20"},
		}
	}
	crashedBy := func(crash *misstepv1.Crash) func(c *Contents) {
		return func(c *Contents) {
			crashed(c)
			c.Reproducer.Finding.Example.Crash = crash
		}
	}
	unwritten := crashedBy(
		&misstepv1.Crash{Error: "SIGSEGV (0xb)", Detail: hserr.Unwritten, ProblematicFrame: "C  [libjvm.so]  frame::sender"},
	)
	asserted := crashedBy(&misstepv1.Crash{
		Error: "Internal Error", Detail: "Internal Error (/build/jdk/src/frame.cpp:20); guarantee(n == 0) failed", ProblematicFrame: "V  [libjvm.so+0x1]  report_vm_error+0x1",
	})
	compiled := crashedBy(
		&misstepv1.Crash{Error: "SIGSEGV (0xb)", ProblematicFrame: "J 10 c1 Crash.down(I)V (19 bytes) @ 0x00007f57a8b90e40"},
	)
	file := func(head string) string { return started + "printf '" + head + "' >\"$errors\"; exit 134\n" }
	at := func(place string) func(c *Contents) {
		return func(c *Contents) {
			c.Reproducer.Finding.Signature.Parts = []string{"gst-asgct", "truncated", place}
			c.Reproducer.Finding.Example.Mismatches = append(
				c.Reproducer.Finding.Example.Mismatches,
				&misstepv1.Mismatch{DeoptimisedCaller: &misstepv1.Frame{}},
			)
		}
	}
	cut := func(method, descriptor, more string) string {
		return started + `echo '{"check":"gst-asgct","kind":"truncated","reference":{"source":"gst","frames":[],"numFrames":2},"suspect":{"source":"asgct","frames":[` +
			`{"className":"a.B","method":"` + method + `","descriptor":"` + descriptor + `","bci":4}],"numFrames":1},"divergence":0,"topState":""` + more + `}' >"$out/mismatches.jsonl"` + "\n"
	}
	const caller = `,"deoptimisedCaller":{"className":"a.C","method":"run","descriptor":"()V"}`
	hung := func(c *Contents) {
		c.Reproducer.Finding.Signature = &misstepv1.Signature{Kind: "hang"}
		c.Command.Wall = 1
	}
	ended := func(c *Contents) { // long before a hang would be told
		hung(c)
		c.Command.Wall = time.Hour
	}
	failed := func(message string) func(c *Contents) {
		return func(c *Contents) {
			c.Reproducer.Finding.Signature = &misstepv1.Signature{
				Kind: "failure", Parts: []string{"validation", signature.WithoutValues(message)}, Version: signature.Version,
			}
			c.Reproducer.Finding.Example = &misstepv1.Outcome{
				ExitCode: 3, ApplicationFailure: &misstepv1.ApplicationFailure{Reason: "validation", Message: message},
			}
		}
	}
	wrong := failed("round 7: it's 12 and not $(true)")
	other := `echo '{"check":"gst-asgct","kind":"wrong-bci","method":"<clinit>"}' >"$out/mismatches.jsonl"` + "\n"
	coreutils := onlyCoreutils(t)
	for name, test := range map[string]struct {
		change    func(*Contents)
		behaviour string
		arguments []string
		exit      int
		says      string
	}{
		"a mismatch":                  {nil, mismatch, nil, 0, "10 of 10 tries reproduced finding F0123456789ab"},
		"tries are counted":           {nil, mismatch, []string{"-n", "2"}, 0, "2 of 2 tries"},
		"another mismatch":            {nil, started + other, []string{"-n", "2"}, 1, "0 of 2 tries"},
		"nothing":                     {nil, started, []string{"-n", "1"}, 1, "try 1 of 1: not reproduced"},
		"no agent":                    {nil, "echo no such option\n", []string{"-n", "1"}, 2, "void, the agent did not start: no such option"},
		"workload fails":              {nil, started + "exit 3\n", []string{"-n", "1"}, 2, "void, the workload failed with exit code 3"},
		"crash found":                 {crashed, crash, []string{"-n", "1"}, 0, "1 of 1 tries"},
		"crash instead":               {nil, crash, []string{"-n", "1"}, 1, "another crash: # V  [libjvm.so+0x8a]  frame::sender"},
		"crash in compiled code":      {compiled, file(`#\n# Problematic frame:\n# J 1432 c2 Crash.down(I)V (19 bytes) @ 0x00007f32dd11162c\n`), []string{"-n", "1"}, 0, "1 of 1 tries"},
		"crash elsewhere":             {compiled, file(`#\n# Problematic frame:\n# J 10 c2 Crash.up(I)V (19 bytes)\n`), []string{"-n", "1"}, 1, "another crash: # J 10 c2 Crash.up(I)V"},
		"assertion":                   {asserted, file(`#\n#  Internal Error (frame.cpp:33), pid=1, tid=2\n#  guarantee(n == 0) failed\n`), []string{"-n", "1"}, 0, "1 of 1 tries"},
		"another assertion":           {asserted, file(`#\n#  Internal Error (heap.cpp:20), pid=1, tid=2\n#  guarantee(n == 0) failed\n`), []string{"-n", "1"}, 1, "another crash: #  guarantee(n == 0) failed"},
		"no error file":               {unwritten, started + "kill -SEGV $$\n", []string{"-n", "1"}, 0, "1 of 1 tries"},
		"an error file":               {unwritten, crash, []string{"-n", "1"}, 1, "another crash: # V  [libjvm.so+0x8a]"},
		"no error file instead":       {nil, started + "kill -SEGV $$\n", []string{"-n", "1"}, 1, "another crash: signal 11, without an error file"},
		"crash before the agent":      {nil, `printf '# Problematic frame:\n# C  [libc.so.6+0x1]\n' >"$errors"; exit 134` + "\n", []string{"-n", "1"}, 2, "void, the agent did not start"},
		"deoptimised caller":          {at("deoptimised caller"), cut("call", "()V", caller), []string{"-n", "1"}, 0, "1 of 1 tries"},
		"cut off there without one":   {at("deoptimised caller"), cut("call", "()V", ""), []string{"-n", "1"}, 1, "0 of 1 tries"},
		"upcall of loadClass instead": {at("deoptimised caller"), cut("loadClass", "(Ljava/lang/String;)Ljava/lang/Class;", caller), []string{"-n", "1"}, 1, "0 of 1 tries"},
		"cut off at a method":         {at("a.B.call <- a.C.run"), cut("call", "()V", `,"class":"a.C","className":"a.C","method":"run"`), []string{"-n", "1"}, 0, "1 of 1 tries"},
		"cut off there by another":    {at("a.B.call <- a.C.run"), cut("call", "()V", caller), []string{"-n", "1"}, 1, "0 of 1 tries"},
		"no crash":                    {crashed, started, []string{"-n", "1"}, 1, "0 of 1 tries"},
		"hang found":                  {hung, started + "sleep 60\n", []string{"-n", "1"}, 0, "1 of 1 tries"},
		"wrong result":                {wrong, started + "echo \"round 3: it's 99 and not \\$(true)\" >&2; exit 3\n", []string{"-n", "1"}, 0, "1 of 1 tries"},
		"other wrong result":          {wrong, started + "echo 'round 7: it is 12'; exit 3\n", []string{"-n", "1"}, 2, "void, the workload failed with exit code 3"},
		"wrong exit code":             {wrong, started + "echo \"round 3: it's 99 and not \\$(true)\"; exit 1\n", []string{"-n", "1"}, 2, "void, the workload failed with exit code 1"},
		"right result":                {wrong, started + "echo \"round 3: it's 99 and not \\$(true)\"\n", []string{"-n", "1"}, 1, "0 of 1 tries"},
		"wrong result and crash":      {wrong, started + "echo \"round 3: it's 99 and not \\$(true)\"; echo >\"$errors\"; exit 3\n", []string{"-n", "1"}, 1, "another crash"},
		"killed by another":           {ended, started + "kill -KILL $$\n", []string{"-n", "1"}, 2, "void, the workload failed with exit code 137"},
		"no hang":                     {ended, started, []string{"-n", "1"}, 1, "0 of 1 tries"},
		"bad number":                  {nil, started, []string{"-n", "0"}, 2, "expected a number from 1"},
		"unknown option":              {nil, started, []string{"-x"}, 2, "usage: run.sh"},
		"JDK is too old":              {func(c *Contents) { c.Command.MinFeature = 22 }, started, nil, 2, "the workload needs JDK 22 or later"},
		"methods in a file":           {func(c *Contents) { c.Command.Only = []string{"a/B.<clinit>()V"} }, `grep -q '^a/B.<clinit>()V$' "$JAVA_HOME/../bundle of it/only.txt" && ` + mismatch, []string{"-n", "1"}, 0, "1 of 1"},
		"a plan in a file":            {func(c *Contents) { c.Command.Plan = []byte("a plan\n") }, `for w in "$@"; do case $w in -agentpath:*) plan=${w#*,perturb=}; plan=${plan%%,*} ;; esac; done; grep -q 'a plan' "$plan" && ` + mismatch, []string{"-n", "1"}, 0, "1 of 1"},
		"instruments":                 {nil, `[[ " $* " == *" --patch-module=java.base="*" -agentpath:"*" -javaagent:"* ]] && ` + mismatch, []string{"-n", "1"}, 0, "1 of 1"},
		"instruments nothing":         {func(c *Contents) { c.Command.Instruments = false }, `[[ " $* " != *" --patch-module"* && " $* " != *" -javaagent:"* ]] && ` + mismatch, []string{"-n", "1"}, 0, "1 of 1"},
		"prints for an hour":          {nil, mismatch + "head -c 50000000 /dev/zero\n", []string{"-n", "1"}, 0, "1 of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sample(t)
			if test.change != nil {
				test.change(&c)
			}
			b, err := read(build(t, c))
			require.NoError(t, err)
			root := t.TempDir()
			dir, jdk, temporary := filepath.Join(root, "bundle of it"), filepath.Join(root, "jdk"), filepath.Join(root, "tmp")
			require.NoError(t, b.Extract(dir))
			writeFile(t, filepath.Join(jdk, "bin", "java"), benchJava, 0o755)
			writeFile(t, filepath.Join(jdk, "behaviour"), test.behaviour, 0o644)
			require.NoError(t, os.Mkdir(temporary, 0o755))

			cmd := exec.Command("bash", append([]string{filepath.Join(dir, "run.sh")}, append(test.arguments, jdk)...)...)
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "JAVA_TOOL_OPTIONS=-of-the-caller", "PATH="+coreutils)
			out, _ := cmd.CombinedOutput() // the exit code is looked at below
			assert.Equal(t, test.exit, cmd.ProcessState.ExitCode(), string(out))
			assert.Contains(t, string(out), test.says)
			left, err := os.ReadDir(temporary)
			require.NoError(t, err)
			assert.Empty(t, left, "nothing is left")
		})
	}
}

// A reproducer that any seed shows is tried with other seeds, as its rate was measured; one that needs its seed, or was not
// measured, with that.
func TestRunScriptSeeds(t *testing.T) {
	// The JVM notes its seed and the first nine bytes of its plan.
	const note = `for w in "$@"; do case $w in -agentpath:*) w=${w#*=}; seed=${w#*seed=}; plan=${w#*perturb=}; echo "${seed%%,*} $(head -c 9 "${plan%%,*}" | od -An -tu1)" >>"$JAVA_HOME/seeds" ;; esac; done` + "\n" + started
	for name, test := range map[string]struct {
		change func(*misstepv1.Reproducer)
		want   string
	}{
		"not measured":               {func(r *misstepv1.Reproducer) { r.Reliability = nil }, "42 42 0 0 0 0 0 0 0 7\n42 42 0 0 0 0 0 0 0 7\n"},
		"measured":                   {nil, "43 43 0 0 0 0 0 0 0 7\n44 44 0 0 0 0 0 0 0 7\n"},
		"its own":                    {func(r *misstepv1.Reproducer) { r.SeedMatters = true }, "42 42 0 0 0 0 0 0 0 7\n42 42 0 0 0 0 0 0 0 7\n"},
		"a perturbation with a seed": {func(r *misstepv1.Reproducer) { r.Recipe.Perturbation.Seed = 42 }, "43 42 0 0 0 0 0 0 0 7\n44 42 0 0 0 0 0 0 0 7\n"},
		"the last seeds":             {func(r *misstepv1.Reproducer) { r.Recipe.Seed = 1<<64 - 2 }, "18446744073709551615 255 255 255 255 255 255 255 255 7\n0 0 0 0 0 0 0 0 0 7\n"},
		"beyond a sign":              {func(r *misstepv1.Reproducer) { r.Recipe.Seed = 1<<63 - 2 }, "9223372036854775807 255 255 255 255 255 255 255 127 7\n9223372036854775808 0 0 0 0 0 0 0 128 7\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sample(t)
			c.Command.Plan = []byte{42, 0, 0, 0, 0, 0, 0, 0, 7}
			c.Reproducer.Reliability = &misstepv1.Reliability{Hits: 5, Tries: 10}
			c.Reproducer.Recipe.Perturbation = &misstepv1.Perturbation{Strategy: "delay"}
			if test.change != nil {
				test.change(c.Reproducer)
			}
			b, err := read(build(t, c))
			require.NoError(t, err)
			root := t.TempDir()
			dir, jdk := filepath.Join(root, "bundle"), filepath.Join(root, "jdk")
			require.NoError(t, b.Extract(dir))
			writeFile(t, filepath.Join(jdk, "bin", "java"), benchJava, 0o755)
			writeFile(t, filepath.Join(jdk, "behaviour"), note, 0o644)
			out, _ := exec.Command("bash", filepath.Join(dir, "run.sh"), "-n", "2", jdk).CombinedOutput() // not reproduced
			got, err := os.ReadFile(filepath.Join(jdk, "seeds"))
			require.NoError(t, err, string(out))
			assert.Equal(t, test.want, regexp.MustCompile(` +`).ReplaceAllString(string(got), " "))
		})
	}
}

// onlyCoreutils is a folder with bash and programs of coreutils: all that a bundle's script may need besides a JDK.
func onlyCoreutils(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"bash", "dirname", "env", "head", "mkdir", "mktemp", "readlink", "rm", "tail", "timeout"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}

func TestRunScriptWithoutAJDK(t *testing.T) {
	b, err := read(build(t, sample(t)))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "bundle")
	require.NoError(t, b.Extract(dir))
	cmd := exec.Command("bash", filepath.Join(dir, "run.sh"), "/no/jdk/here")
	out, _ := cmd.CombinedOutput() // the exit code is looked at below
	assert.Equal(t, 2, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(out), "/no/jdk/here/bin/java is not there: name the folder of a JDK")
}

// A signature's kind may be recorded by the agent as another one; a kind that only signatures have is never grepped for.
func TestKindPattern(t *testing.T) {
	for kind, recorded := range map[string][]string{
		"truncated": {"truncated"}, "swapped": {"foreign"}, "missing": {"missing", "foreign", "wrong-method"}, "impossible-edge": {"impossible-edge"},
	} {
		re := regexp.MustCompile("^" + kindPattern("gst-asgct", kind) + "$")
		for _, k := range []string{"truncated", "missing", "extra", "foreign", "wrong-method", "wrong-bci", "code", "impossible-edge", "swapped"} {
			require.Equal(t, slices.Contains(recorded, k), re.MatchString(k), "%s recorded as %s", kind, k)
		}
	}
}

func TestShellWord(t *testing.T) {
	for _, word := range []string{"", "plain", "it's", "$(touch /tmp/x) `id` \"q\" \\ * ~", "a\nb", "-Dx=y z"} {
		out, err := exec.Command("bash", "-c", "printf '%s' "+shellWord(word)).Output()
		require.NoError(t, err)
		assert.Equal(t, word, string(out))
	}
	out, err := exec.Command("bash", "-c", "here='a b'; out=o; printf '%s' "+shellWord("x'"+Dir+"/y:"+Out+"@z@")).Output()
	require.NoError(t, err)
	assert.Equal(t, "x'a b/y:o@z@", string(out))
}

func TestFrameFunction(t *testing.T) {
	for frame, want := range map[string]string{
		"V  [libjvm.so+0x8a3f10]  frame::sender(RegisterMap*) const+0x20":                                     "frame::sender",
		"# C  [libc.so.6+0x9aaee]  __memset_avx2+0x1e":                                                        "__memset_avx2",
		"C  [libmisstep.so+0x123]":                                                                            "libmisstep.so",
		"v  ~StubRoutines::call_stub 0x00007f":                                                                "~StubRoutines::call_stub",
		"# J 10 c1 Crash.down(ILsun/misc/Unsafe;)V (19 bytes) @ 0x00007f57a8b90e40 [0x00007f57a8b90dc0+0x80]": "Crash.down",
		"J 1432% C2 a.B$C.<init>(I)V (12 bytes) @ 0x00007f57a8b90e40":                                         "a.B$C.<init>",
		"J 12  sun.misc.Unsafe.putAddress(JJ)V (0 bytes) @ 0x00007f0011223344":                                "sun.misc.Unsafe.putAddress",
		"J 3 c2 a.B$$Lambda$14/0x0000000800c0a400.run()V (4 bytes)":                                           "a.B",
		"j  java.lang.invoke.LambdaForm$MH/0x0000000800066c00.invoke(Ljava/lang/Object;)V+7":                  "java.lang.invoke.",
		"C  0x00007f57a8b90e40":                                                                               "",
		"J 9 c1 a.ResourceAccessor.foo()V (4 bytes) @ 0x00007f57a8b90e40":                                     "a.ResourceAccessor.foo",
		"j  jdk.internal.reflect.GeneratedMethodAccessor12.invoke(Ljava/lang/Object;)V+7":                     "jdk.internal.reflect.",
		"j  $Proxy5.run()V+1": "$Proxy5.run",
		"j  a.B.c(I)V+1":      "a.B.c",
		"":                    "",
		"0x0000":              "",
	} {
		assert.Equal(t, want, frameFunction(frame), frame)
	}
}

func TestRelocate(t *testing.T) {
	got := Relocate([]string{"-cp", "/w/lib/a.jar:/w/lib/b.jar", "-Dtmp=/s", "/sub", "Main"}, "/w/", "/s")
	assert.Equal(
		t,
		[]string{"-cp", "@BUNDLE@/workload/lib/a.jar:@BUNDLE@/workload/lib/b.jar", "-Dtmp=@SCRATCH@", "/sub", "Main"},
		got,
	)
}
