package agent

import (
	"archive/zip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// redefining returns the flag that loads Redefined as a Java agent.
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

// mostCrashes is the number of crashes by the JVM's own bug (see runRedefining) after which a run is not repeated.
const mostCrashes = 2

// runRedefining runs a program that redefines a class. Before 23, GetStackTrace may then return an id that is no method's: when the
// id of a frame of an old version is requested, the class's table of ids grows, and the old table is freed while other threads may
// read it (InstanceKlass::get_jmethod_id; since JDK-8313332 it grows at a safepoint). Passing such an id to JVMTI crashes the JVM
// at once, in resolving the id. Such a run is repeated in a new folder; a fault of the agent would occur again.
func runRedefining(t *testing.T, j jvm, o *Options, enough func(result) bool) result {
	t.Helper()
	for crashes := 0; ; crashes++ {
		o.Out = t.TempDir()
		r := runUntil(t, built(t), j, *o, enough, nil, redefining(t), "Redefined", spent)
		if r.err == nil || j.feature >= 23 || crashes == mostCrashes ||
			!strings.Contains(r.output, "Method::checked_resolve_jmethod_id") {
			return r
		}
		t.Log("the JVM crashed over an id that it had returned itself: JDK-8313332")
	}
}

// A class is redefined repeatedly while frames of it are active. Frames of a replaced version continue with an id of their own, so
// a difference in ids or in the place of a call is tolerated by the rule retransformed: in edges, which keeps the code of the first
// version, and in samples, where the frame in its push or pop may be of either version. Entries agree: each version has its
// instrumentation, and GetStackTrace creates the ids that AsyncGetCallTrace then finds. A bracket is rarely judged by the rule, as
// no event reports these ids: it is void (unknown-method), or has no id (null-method-id). A sample taken during the redefinition
// itself may show any method of the class, which is a fault of the JVM: a few are allowed.
func TestAClassThatIsRedefined(t *testing.T) {
	rules := map[string][]string{"instrumented": {"asgct-shadow", "edges"}, "brackets": {"edges"}}
	for _, j := range oldMiddleNew(t) {
		for name, o := range map[string]Options{"instrumented": instrumented(t, "Redefined*"), "brackets": bracketed(t)} {
			t.Run(j.String()+"/"+name, func(t *testing.T) {
				r := runRedefining(t, j, &o, func(r result) bool {
					return checked(o, r, 110) && !slices.ContainsFunc(rules[name], func(check string) bool {
						return r.check(check).Tolerated["retransformed"] == 0
					})
				})
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

// Native code does not block the safepoint at which a class is redefined, so the redefinition may happen between the two walks of
// gst-asgct: the same frame then has one id in GetStackTrace's result and another in AsyncGetCallTrace's. A second call of
// GetStackTrace returns the new id, and the second pair of walks counts.
func TestARedefinitionBetweenTwoWalks(t *testing.T) {
	between := uint64(0)
	for _, j := range oldMiddleNew(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := instrumented(t, "Redefined*")
			o.Checks = map[string]float64{"gst-asgct": 1}
			r := runRedefining(t, j, &o, func(r result) bool { return r.check("gst-asgct").Match > 3_000 })
			requireSound(t, r)
			require.Contains(t, r.output, "redefined: verified")
			c := r.check("gst-asgct")
			t.Logf("%+v", c)
			require.Greater(t, c.Match, uint64(1_000))
			between += c.Tolerated["retransformed"]
			requireKnown(t, j, o, r, 0)
		})
	}
	// A race, so not asserted: CompareTest.RetransformedIdsHideNoFault tests the rule.
	t.Logf("%d checks had a redefinition between their walks", between)
}
