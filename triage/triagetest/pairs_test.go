package triagetest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func identified(causes, alike string, ids ...string) Identified {
	signatures := map[string]string{}
	for _, id := range ids {
		signatures[id] = "signature " + id
	}
	return Identified{
		Report: Report{Name: causes + alike, Causes: strings.Split(causes, "+"), Alike: strings.Split(alike, "+")},
		IDs:    ids, Signatures: signatures,
	}
}

func TestMeasurePairs(t *testing.T) {
	// Of the pairs in one finding, 1-2, 1-5 and 2-5 have id 1, and 3-4 has id 2; all but 3-4 have a common cause. Alike are 1-2,
	// 1-5, 2-5 and 4-5; that of 4-5 was missed.
	all := []Identified{
		identified("a", "a", "1"), identified("a", "a", "1"), identified("c", "c", "2"), identified("b", "b", "2"),
		identified("a+b", "a+b", "1", "3"),
	}
	s := MeasurePairs(all, 1)
	require.InDelta(t, 3.0/4, s.Precision.Value, 1e-12)
	require.InDelta(t, 3.0/4, s.Recall.Value, 1e-12)
	require.InDelta(t, 1.0/3, s.Pure.Value, 1e-12, "b and c share a finding")
	require.InDelta(t, 1.0/2, s.Whole.Value, 1e-12, "of the groups a and b, b has no common id; c is alone")
	require.Equal(t, []int{5, 3, 3}, []int{s.Reports, s.Causes, s.Findings})
	require.Equal(t, s, MeasurePairs(all, 1), "the same seed gives the same")

	wrong := Wrong(all)
	require.Len(t, wrong, 2)
	for _, p := range wrong {
		assert.Equal(t, p.B.Name == "a+ba+b", p.Missed, "%s, %s", p.A.Name, p.B.Name)
	}

	// One cause in two ways: reports that are not alike count for precision only.
	s = MeasurePairs([]Identified{identified("a", "a, jdk8", "1"), identified("a", "a, jdk17", "2"), identified("b", "b", "3")}, 1)
	require.InDelta(t, 0, s.Pure.Value-1, 1e-12)
	require.Empty(t, Wrong([]Identified{identified("a", "a, jdk8", "1"), identified("a", "a, jdk17", "2")}))
}

const errorFile = `# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f77bf43e4db, pid=18487, tid=18535
#
# Problematic frame:
# C  [libvault_x86_6415162893306716308355.so+0x24db]  table_put+0x7
#
Current thread (0x00007f77b80b8430):  JavaThread "worker-1" [_thread_in_native, id=18535, stack(0x00007f77a09ff000,0x7f)]

Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)
C  [libvault_x86_6415162893306716308355.so+0x24db]  table_put+0x7

siginfo: si_signo: 11 (SIGSEGV), si_code: 1 (SEGV_MAPERR), si_addr: 0x0000000000000018
`

func TestMutationsChangeWhatRunsChange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	other := addresses(errorFile, random)
	require.NotContains(t, other, "00007f77")
	require.Contains(t, other, "+0x24db]", "an offset is not of the run")
	require.Contains(t, other, "si_addr: 0x0000000000000018", "nor is one into an object at null")
	require.Regexp(t, `(?s)Current thread \(0x(\w+)\).*`, other)

	other = ids(errorFile, random)
	require.NotContains(t, other, "18487")
	require.NotContains(t, other, "18535")
	require.Contains(t, other, "(0xb)")

	other = libraries(errorFile, random)
	require.NotContains(t, other, "15162893306716308355")
	require.Contains(t, other, "libvault_x86_64")
	require.NotContains(t, crashedName(errorFile, random), `"worker-1"`)

	const dump = "Full dump\n\n\"a\" #1 tid=0x1 nid=0x1\n\tat A.a\n\n\"b\" #2 tid=0x2 nid=0x2\n\tat B.b\n\nJNI global refs: 1"
	head, threads, tail := split(dump)
	require.Equal(t, dump, head+strings.Join(threads, "")+tail)
	require.Len(t, threads, 1, "the last one stays the last")
	require.True(t, strings.HasPrefix(tail, `"b"`))
}
