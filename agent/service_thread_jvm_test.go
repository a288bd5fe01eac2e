package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// On 8 the Service Thread starts after the compilers, and code whose events wait for it may be taken away before (docs/figures/0011): five of six
// such JVMs died at their start while brackets were made from the agent's own start on, and one of a hundred while code was watched from then on. What
// was compiled before is known all the same.
func TestTheServiceThreadOf8IsThereBeforeBrackets(t *testing.T) {
	checks := allChecks(0.002)
	checks["asgct-gst-bracket"] = 1
	serviceThreadOf8(t, 6, checks)
}

// With an agent beside it that has code compiled, replaced and swept away in the JVM's start 6 of 20 JVMs died while code was watched from the
// agent's own start on.
func TestNoEventOf8WaitsForTheServiceThread(t *testing.T) {
	flags, _ := early(t)
	serviceThreadOf8(t, 12, map[string]float64{"asgct-gst-bracket": 1}, flags[0]+"=hurry")
}

// serviceThreadOf8 runs so many JVMs of 8 whose code cache is small enough for the sweeper to hurry.
func serviceThreadOf8(t *testing.T, runs int, checks map[string]float64, flags ...string) {
	t.Helper()
	ran := 0
	for _, j := range catalogued(t) {
		if j.feature != 8 {
			continue
		}
		for range runs {
			r := run(t, j, Options{Seed: 1, Checks: checks, Interval: time.Millisecond},
				append(flags, "-XX:ReservedCodeCacheSize=16m", "-XX:+UseCodeCacheFlushing"), "Churn", "1", "return")
			requireSound(t, r)
			for _, name := range []string{"asgct-shadow", "asgct-gst-bracket"} {
				if checks[name] > 0 {
					require.NotZero(t, r.check(name).Total, name)
				}
			}
			ran++
		}
	}
	if ran == 0 {
		t.Skip("the catalogue has no JDK 8; run make catalogue")
	}
}
