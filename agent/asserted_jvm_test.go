package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asserting returns the agent with the library that `make agent-assert` built, which asserts the rules of native/src/rules.h.
func asserting(t *testing.T) Artefacts {
	t.Helper()
	a := built(t)
	library, err := filepath.Abs(filepath.Join("..", "build", "agent-assert", LibraryName))
	require.NoError(t, err)
	if _, err := os.Stat(library); err != nil {
		t.Skipf("the agent with assertions is not built (make agent-assert): %v", err)
	}
	a.Library = library
	return a
}

// Threads start and end under signals, brackets and entry checks at once, and under brackets of several threads alone, and no
// assertion of a rule fails: it would abort the JVM. Each JVM logs how often it asserted each rule; the agent without assertions
// does not even contain that message.
func TestTheRulesHoldInJVMs(t *testing.T) {
	a := asserting(t)
	released, err := os.ReadFile(built(t).Library)
	require.NoError(t, err)
	require.False(t, bytes.Contains(released, []byte("rule %d is broken")), "the agent that make agent builds has assertions")
	least := map[string]uint64{
		"gst-asgct": 200, "shadow-gst": 200, "asgct-shadow": 200, "asgct-gst-bracket": 200, "edges": 200, "liveness": 1,
	}
	runs := map[int][][]string{
		8:  {{"Churn", spent, "return"}},
		17: {{"Churn", spent, "exit"}},
		25: {{"Churn", spent, "return"}, {"Virtual", spent, "yield"}},
	}
	for _, j := range catalogued(t) {
		for _, program := range runs[j.feature] {
			all := allChecks(0.01)
			all["asgct-gst-bracket"] = 1
			for _, checks := range []map[string]float64{all, {"asgct-gst-bracket": 1}} {
				t.Run(fmt.Sprint(j, "/", program[0], "/", len(checks), " checks"), func(t *testing.T) {
					o := Options{
						Out: t.TempDir(), Seed: 1, Interval: 50 * time.Microsecond, Jitter: 0.5,
						Include: []string{"Churn*", "Virtual*"}, Checks: checks,
					}
					r := runUntil(t, a, j, o, func(r result) bool {
						return !slices.ContainsFunc(r.status.Checks, func(c CheckCount) bool {
							return checks[c.Name] > 0 && c.Total < least[c.Name]
						})
					}, nil, program...)
					requireSound(t, r)
					require.Contains(t, r.output, "verified")
					for check := range checks {
						require.NotZerof(t, r.check(check).Total, "%s did nothing", check)
					}
					log, err := os.ReadFile(filepath.Join(o.Out, "agent.log"))
					require.NoError(t, err)
					line := regexp.MustCompile(`(?m)^asserted:.*$`).FindString(string(log))
					t.Logf("%s; %d signals, %d brackets", line, r.status.Sent, r.check("asgct-gst-bracket").Total)
					require.Regexp(t, `^asserted: rule 1 [1-9]\d* rule 2 [1-9]\d* rule 3 [1-9]\d*$`, line,
						"the library has no assertions")
				})
			}
		}
		delete(runs, j.feature)
	}
	require.Empty(t, runs, "the catalogue lacks JDKs")
}
