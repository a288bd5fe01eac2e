package agent

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Frames that JVMTI removes (PopFrame, ForceEarlyReturn) leave their entries on the shadow stack until their caller returns and
// restores the top that it found when it was called. From then on the shadow stack is correct again.
func TestTheShadowOfPoppedFramesHeals(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
			require.NoError(t, free.Close())
			r := run(t, j, Options{Seed: 1, Include: []string{"Popped*"}, Checks: map[string]float64{"shadow-gst": 1}},
				[]string{"-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,quiet=y,address=127.0.0.1:" + port}, "Popped", port)
			requireSound(t, r)
			require.Contains(t, r.output, "popped: verified")
			t.Logf("%+v", r.check("shadow-gst"))
			require.GreaterOrEqual(t, r.check("shadow-gst").Match, uint64(1000), "the calls after the two callers have returned")
			require.NotEmpty(t, r.mismatches, "nothing was popped")
			for _, m := range r.mismatches {
				var stack []string
				for _, f := range m.Suspect.Frames {
					stack = append(stack, f.Method)
				}
				all := strings.Join(stack, " ")
				require.Truef(t, strings.Contains(all, "outer") || strings.Contains(all, "early"),
					"%s: %s after its callers returned", m.Kind, all)
			}
		})
	}
}
