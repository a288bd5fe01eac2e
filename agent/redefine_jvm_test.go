package agent

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// redefining gives the flag that makes Redefined an agent.
func redefining(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "redefined.jar")
	file, err := os.Create(path)
	require.NoError(t, err)
	jar := zip.NewWriter(file)
	manifest, err := jar.Create("META-INF/MANIFEST.MF")
	require.NoError(t, err)
	_, err = manifest.Write([]byte("Manifest-Version: 1.0\nPremain-Class: Redefined\nCan-Redefine-Classes: true\n\n"))
	require.NoError(t, err)
	require.NoError(t, jar.Close())
	require.NoError(t, file.Close())
	return "-javaagent:" + path
}

// mostCrashes of a run that redefines a class are the JVM's.
const mostCrashes = 2

// runRedefining runs a program that redefines a class. Before 23 GetStackTrace may give an id that is no method's then: when the id of a frame of an old
// version is asked for, the class's table of ids grows, and the old table is freed while other threads may read it (InstanceKlass::get_jmethod_id; it grows
// at a safepoint since JDK-8313332). To ask JVMTI about such an id crashes the JVM, at once and at the id itself. That run is done again, in a folder of its own;
// what the agent does wrong comes back.
func runRedefining(t *testing.T, j jvm, o *Options, program ...string) result {
	t.Helper()
	for crashes := 0; ; crashes++ {
		o.Out = t.TempDir()
		r := run(t, j, *o, nil, append([]string{redefining(t)}, program...)...)
		if r.err == nil || j.feature >= 23 || crashes == mostCrashes || !strings.Contains(r.output, "Method::checked_resolve_jmethod_id") {
			return r
		}
		t.Log("the JVM crashed over an id that it gave itself: JDK-8313332")
	}
}

// A class changes its code, by turns, while frames of it run. Frames of a version that was replaced go on with an id of their own, so a difference in
// ids or in the place of a call stands under the rule retransformed: in edges, which keep the code of the first version, and in samples, where the frame in its
// push or pop may be of either. Entries agree: each version has its instrumentation, and GetStackTrace makes the ids that AsyncGetCallTrace then finds. A
// bracket seldom comes to the rule, as no event tells of these ids: it is void (unknown-method), or has none (null-method-id).
// A sample that the redefinition itself meets may show any method of the class, which is the JVM's doing: a few are allowed.
func TestAClassThatIsRedefined(t *testing.T) {
	rules := map[string][]string{"instrumented": {"asgct-shadow", "edges"}, "brackets": {"edges"}}
	for _, j := range oldMiddleNew(t) {
		for name, o := range map[string]Options{"instrumented": instrumented(t, "Redefined*"), "brackets": bracketed(t)} {
			t.Run(j.String()+"/"+name, func(t *testing.T) {
				r := runRedefining(t, j, &o, "Redefined", "2")
				requireSound(t, r)
				require.Contains(t, r.output, "redefined: verified")
				t.Log(strings.TrimSpace(r.output))
				require.Greater(t, printed(t, r, "times"), 5)
				requireChecked(t, o, r, 100)
				for _, check := range rules[name] {
					require.NotZerof(t, r.check(check).Tolerated["retransformed"], "the rule never fired in %s", check)
				}
				requireKnown(t, j, o, r, 2)
			})
		}
	}
}

// Native code does not wait for the safepoint at which a class is redefined, so that may happen between the two walks of gst-asgct: the same frame then
// has one id in GetStackTrace's answer and another in AsyncGetCallTrace's. Asked again, GetStackTrace gives the new one, and the second pair counts.
func TestARedefinitionBetweenTwoWalks(t *testing.T) {
	between := uint64(0)
	for _, j := range oldMiddleNew(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := instrumented(t, "Redefined*")
			o.Checks = map[string]float64{"gst-asgct": 1}
			r := runRedefining(t, j, &o, "Redefined", "3")
			requireSound(t, r)
			require.Contains(t, r.output, "redefined: verified")
			c := r.check("gst-asgct")
			t.Logf("%+v", c)
			require.Greater(t, c.Match, uint64(1_000))
			between += c.Tolerated["retransformed"]
			requireKnown(t, j, o, r, 0)
		})
	}
	t.Logf("%d checks had a redefinition between their walks", between) // a race: CompareTest.RetransformedIdsHideNoFault has the rule
}
