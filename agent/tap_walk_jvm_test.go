package agent

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// asgctMethods are the methods of the walk in a call, top first, as abi.h names them.
func asgctMethods(tap *Tap, c TapCall) (all []string) {
	for _, f := range c.Frames {
		all = append(all, tap.Methods[f.Method])
	}
	return all
}

// hiddenClass is what names a hidden class apart from the class that it belongs to: "+0x00000007c0144000/785570251" in JFR of 17,
// "/0x00000007c0144000" in that of 25, ".0x00000007c0144000" in JVMTI.
var hiddenClass = regexp.MustCompile(`[+./]0x[0-9a-f]+(/[0-9]+)?`)

// sameMethods reports whether two traces have the same methods, hidden classes by the name of the class that they belong to.
func sameMethods(a, b []string) bool {
	return slices.EqualFunc(a, b, func(a, b string) bool {
		return hiddenClass.ReplaceAllString(a, "") == hiddenClass.ReplaceAllString(b, "")
	})
}

// In its share of the calls the tap has the walk of AsyncGetCallTrace at the same instant, and before JDK 25 JFR, which walks the
// stopped thread right after it, has the same frames.
func TestTapAsksAsyncGetCallTrace(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			recording := filepath.Join(t.TempDir(), "r.jfr")
			o := Options{Out: t.TempDir(), Seed: 1, Tap: "both", TapAsgct: 0.5, Include: []string{"Mixed*"}}
			r := runWith(t, built(t), j, o, recordingFlags(j, recording), "Mixed", "2", "1")
			require.NoError(t, r.err, r.output)
			tap, err := ReadTap(filepath.Join(o.Out, FileTap))
			require.NoError(t, err)
			threads, walked, frames, unknown := 0, 0, 0, 0
			states, codes := map[string]int{}, map[int32]int{}
			for _, c := range tap.Calls {
				require.Len(t, c.Frames, int(max(c.Result, 0)))
				require.NotEmpty(t, c.Code)
				if !c.Shadow {
					require.False(t, c.Walked || c.Busy)
					continue
				}
				threads++
				states[cmp.Or(c.TopState, "unknown")]++
				if (c.TopState == "compiled") != (c.Compiled != 0) {
					t.Errorf("state %q with the compiled method %d", c.TopState, c.Compiled)
				}
				if !c.Walked {
					continue
				}
				walked++
				codes[min(c.Result, 1)]++
				frames += len(c.Frames)
				for _, f := range c.Frames {
					if f.Method == TapUnknown {
						unknown++
					}
				}
			}
			t.Logf("%d calls of threads with a shadow, %v: %d walked, codes %v, %d of %d frames unknown", threads, states, walked, codes,
				unknown, frames)
			require.Greater(t, walked, threads/3)
			require.Less(t, walked, threads*2/3)
			require.Positive(t, states["compiled"])
			require.Positive(t, states["native"])
			require.Greater(t, 100*(frames-unknown), 99*frames, "methods have names")
			same, other := 0, 0
			for _, s := range samples(t, j, recording) {
				c, away := nearest(&tap, s, tap.Signals[1])
				if s.kind != execution || away != 0 || c.Result <= 0 || c.Cut || s.truncated || len(s.methods) == 64 {
					continue
				}
				if sameMethods(s.methods, asgctMethods(&tap, c)) {
					same++
				} else {
					other++
				}
			}
			t.Logf("%d execution samples have the frames of AsyncGetCallTrace, %d others", same, other)
			require.Positive(t, same)
			if j.feature < 25 {
				require.Greater(t, same, 9*other)
			}
		})
	}
}
