package agent

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// jumpsBack reports whether the code has: add rsp, N; jmp, which is not an epilogue but the end of a slow path.
func jumpsBack(code []byte) bool {
	at := bytes.Index(code, []byte{0x48, 0x83, 0xc4})
	return at >= 0 && len(code) > at+4 && (code[at+4] == 0xe9 || code[at+4] == 0xeb)
}

// stored runs the program that stores references and follows them. hidden counts records of C code that returns to where a barrier
// restores registers.
func stored(t *testing.T, j jvm, seed uint64, flags []string) (hidden int) {
	t.Helper()
	o := Options{
		Seed: seed, Include: []string{"Stored*"}, Checks: map[string]float64{"asgct-shadow": 1}, Interval: 50 * time.Microsecond,
	}
	enough := func(r result) bool {
		return r.check("asgct-shadow").Total > 50 && r.check("asgct-shadow").Mismatch >= 5
	}
	r := runUntil(t, built(t), j, o, enough, flags, "Stored", "2")
	requireSound(t, r)
	require.Contains(t, r.output, "stored: verified")
	c := r.check("asgct-shadow")
	require.Greater(t, c.Total, uint64(50))
	t.Logf("%v: %d of %d samples are mismatches", j, c.Mismatch, c.Total)
	for _, m := range r.mismatches {
		t.Logf("%s at %s, returns to %s % x", m.Kind, m.TopState, m.ReturnState, m.ReturnCode)
		if m.TopState == "native" && m.ReturnState == "compiled" && jumpsBack(m.ReturnCode) {
			hidden++
		}
	}
	return hidden
}

// Since 24, C2 emits the slow path of G1's barriers: it saves the live registers on the stack while it calls the VM (HotSpot:
// SaveLiveRegisters, cpu/x86/gc/shared/barrierSetAssembler_x86.cpp). The walker finds the caller by the frame's size, which does
// not include them. Small card queues without concurrent refinement make these calls frequent; the registers are restored right
// after the call.
func TestRegistersThatABarrierSavesHideTheCaller(t *testing.T) {
	for _, j := range jvms(t) {
		flags := []string{"-XX:+UseG1GC", "-XX:-TieredCompilation", "-XX:G1UpdateBufferSize=2"}
		if j.feature >= 24 {
			flags = append(flags, "-XX:+UnlockDiagnosticVMOptions", "-XX:-G1UseConcRefinement")
		}
		hidden := 0
		for seed := uint64(1); hidden == 0 && seed <= 10; seed++ { // some of thousands of samples
			hidden = stored(t, j, seed, flags)
			if j.feature < 24 {
				break
			}
		}
		require.Equal(t, j.feature >= 24, hidden > 0)
	}
}

// ZGC's barriers have had such slow paths since C2 expands them late (14, JDK-8230565; HotSpot: ZSaveLiveRegisters,
// cpu/x86/gc/z/zBarrierSetAssembler_x86.cpp). With back-to-back collections, a program that follows references spends much of its
// time in them.
func TestRegistersThatZGCSavesHideTheCaller(t *testing.T) {
	for _, j := range jvms(t) {
		hidden := 0
		for seed := uint64(1); hidden == 0 && seed <= 5; seed++ {
			hidden = stored(t, j, seed, []string{"-XX:+UseZGC", "-XX:-TieredCompilation", "-XX:ZCollectionInterval=0.01", "-Xmx1g"})
		}
		require.Positive(t, hidden)
	}
}
