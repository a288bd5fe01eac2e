package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// On 8 the Service Thread starts after the compilers, and code whose events wait for it may be taken away before (docs/design/0011): five of six
// such JVMs died at their start while brackets were made from the agent's own start on, and one of a hundred while code was watched from then on. What
// was compiled before is known all the same.
func TestTheServiceThreadOf8IsThereBeforeBrackets(t *testing.T) {
	ran := 0
	for _, j := range catalogued(t) {
		if j.feature != 8 {
			continue
		}
		for range 6 {
			checks := allChecks(0.002)
			checks["asgct-gst-bracket"] = 1
			r := run(t, j, Options{Seed: 1, Checks: checks, Interval: time.Millisecond},
				strings.Fields("-XX:ReservedCodeCacheSize=16m -XX:+UseCodeCacheFlushing"), "Churn", "1", "return")
			requireSound(t, r)
			for _, name := range []string{"asgct-shadow", "asgct-gst-bracket"} {
				require.NotZero(t, r.check(name).Total, name)
			}
			ran++
		}
	}
	if ran == 0 {
		t.Skip("the catalogue has no JDK 8; run make catalogue")
	}
}
