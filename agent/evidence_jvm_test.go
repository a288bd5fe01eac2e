package agent

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// With evidence=every each mismatch has a record of its own up to the limit; further mismatches are counted in a similar record, if
// there is one.
func TestEveryMismatchHasItsRecord(t *testing.T) {
	j := jvms(t)[0]
	flags := []string{
		"-XX:TieredStopAtLevel=1", "-XX:-BackgroundCompilation", "-XX:-UseOnStackReplacement",
		"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Deoptimised.*",
	}
	for _, most := range []int{4096, 2} {
		t.Run(strconv.Itoa(most), func(t *testing.T) {
			o := Options{
				Seed: 1, Include: []string{"Deoptimised*"}, Checks: map[string]float64{"gst-asgct": 1, "asgct-shadow": 1},
				Interval: time.Millisecond, Evidence: "every", MaxMismatches: most,
			}
			r := run(t, j, o, flags, "Deoptimised", "deoptimised")
			requireSound(t, r)
			found := r.check("gst-asgct").Mismatch + r.check("asgct-shadow").Mismatch
			require.Greater(t, found, uint64(2), "one at an entry, and the samples in the method called there")
			require.Len(t, r.mismatches, int(min(found, uint64(most))))
			counted := uint64(0)
			sequences := map[string]bool{}
			for _, m := range r.mismatches {
				n, err := strconv.ParseUint(m.Count, 10, 64)
				require.NoError(t, err)
				counted += n
				require.Falsef(t, sequences[m.Check+m.Sequence], "%s %s twice", m.Check, m.Sequence)
				sequences[m.Check+m.Sequence] = true
			}
			if most > 2 {
				require.Equal(t, found, counted)
			} else {
				require.LessOrEqual(t, counted, found)
			}
		})
	}
}
