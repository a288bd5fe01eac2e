package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// On 8 the Service Thread starts after the compilers, and code whose events wait for it may be removed before (docs/figures/0011):
// five of six such JVMs crashed during startup when brackets were made from the agent's own start on, and one of a hundred when
// code was watched from then on. Code that was compiled earlier is known nevertheless.
func TestTheServiceThreadOf8IsThereBeforeBrackets(t *testing.T) {
	checks := allChecks(0.002)
	checks["asgct-gst-bracket"] = 1
	serviceThreadOf8(t, 6, checks)
}

// With a second agent that causes code to be compiled, replaced and swept during startup, 6 of 20 JVMs crashed when code was
// watched from the agent's own start on.
func TestNoEventOf8WaitsForTheServiceThread(t *testing.T) {
	flags, _ := early(t)
	serviceThreadOf8(t, 12, map[string]float64{"asgct-gst-bracket": 1}, flags[0]+"=hurry")
}

// serviceThreadOf8 runs the given number of JVMs of JDK 8 whose code cache is small enough to make the sweeper run often.
func serviceThreadOf8(t *testing.T, runs int, checks map[string]float64, flags ...string) {
	t.Helper()
	ran := 0
	for _, j := range catalogued(t) {
		if j.feature != 8 {
			continue
		}
		for range runs {
			r := runUntil(t, built(t), j, Options{Seed: 1, Checks: checks, Interval: time.Millisecond}, func(r result) bool {
				samples, brackets := r.check("asgct-shadow").Total, r.check("asgct-gst-bracket").Total
				return (checks["asgct-shadow"] == 0 || samples > 20) && brackets > 20
			}, append(flags, "-XX:ReservedCodeCacheSize=16m", "-XX:+UseCodeCacheFlushing"), "Churn", spent, "return")
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
