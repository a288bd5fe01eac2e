package bpf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/schedule"
)

func bytesOf(t testing.TB, value any) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, binary.Write(&b, binary.LittleEndian, value))
	return b.Bytes()
}

// The Go types are generated from the object's BTF; what Go code repeats by hand must not drift from it.
func TestLayoutsAndNumbersAgreeWithTheObject(t *testing.T) {
	spec, err := loadSched()
	require.NoError(t, err)
	for name, size := range map[string]uintptr{
		"misstep_config": unsafe.Sizeof(schedule.Config{}), "misstep_record": schedule.RecordSize,
		"misstep_thread": unsafe.Sizeof(schedMisstepThread{}),
		"misstep_exit":   unsafe.Sizeof(schedMisstepExit{}), "misstep_decision": unsafe.Sizeof(schedMisstepDecision{}),
		"misstep_at":    unsafe.Sizeof(schedMisstepAt{}),
		"misstep_knobs": unsafe.Sizeof(schedule.Knobs{}),
	} {
		var s *btf.Struct
		require.NoError(t, spec.Types.TypeByName(name, &s))
		assert.Equal(t, size, uintptr(s.Size), name)
		end := uint32(0)
		for _, m := range s.Members {
			assert.Equal(t, end, m.Offset.Bytes(), "%s has a hole before %s", name, m.Name)
			length, err := btf.Sizeof(m.Type)
			require.NoError(t, err)
			end = m.Offset.Bytes() + uint32(length)
		}
		assert.Equal(t, s.Size, end, "%s has a hole at its end", name)
	}
	assert.Equal(t, uint32(schedule.Histograms)*schedule.Buckets, spec.Maps[schedMapHistograms].MaxEntries)
	assert.Equal(t, uint32(schedule.Stats), spec.Maps[schedMapStats].MaxEntries)

	assert.EqualValues(t, schedMisstepRecordKindMISSTEP_RECORD_THREAD, schedule.RecordThread)
	assert.EqualValues(t, schedMisstepRecordKindMISSTEP_RECORD_DECISION, schedule.RecordDecision)
	assert.EqualValues(t, schedMisstepRecordKindMISSTEP_RECORD_EXIT, schedule.RecordEnd)
	assert.EqualValues(t, schedMisstepRecordKindMISSTEP_RECORD_RUN, schedule.RecordRun)
	assert.EqualValues(t, schedMisstepEndingMISSTEP_ENDING_BLOCKED, schedule.EndingBlocked)
	assert.EqualValues(t, schedMisstepEndingMISSTEP_ENDING_EXITED, schedule.EndingExited)
	assert.EqualValues(t, schedMisstepEventMISSTEP_EVENT_START, schedule.EventStart)
	assert.EqualValues(t, schedMisstepEventMISSTEP_EVENT_WAKEUP, schedule.EventWakeup)
	assert.EqualValues(t, schedMisstepEventMISSTEP_EVENT_EXPIRY, schedule.EventExpiry)
	assert.EqualValues(t, schedMisstepRoleMISSTEP_ROLE_SAMPLER, schedule.RoleSampler)
	assert.EqualValues(t, schedMisstepRoleMISSTEP_ROLE_MUTATOR, schedule.RoleMutator)
	assert.Len(t, schedule.RoleNames, int(schedMisstepRoleMISSTEP_ROLES))
	assert.EqualValues(t, schedMisstepMarkMISSTEP_MARK_DELAYED, schedule.MarkDelayed)
	assert.EqualValues(t, schedMisstepMarkMISSTEP_MARK_DEPARTED, schedule.MarkDeparted)
	assert.Equal(t, "delayed, departed", (schedule.MarkDelayed | schedule.MarkDeparted).String())
}

func TestRecordIsLaidOutAsInTheKernel(t *testing.T) {
	r := schedule.Record{
		Kind: schedule.RecordDecision, Elapsed: 1, Path: 2, Delay: 3, Slice: 4, Rank: 5, Counter: 6, TID: 7,
		Event: schedule.EventExpiry, Role: schedule.RoleVM, Marks: schedule.MarkStarved, Comm: "name",
	}
	k := schedMisstepRecord{
		Elapsed: 1, Path: 2, Delay: 3, Slice: 4, Rank: 5, Counter: 6, Tid: 7,
		Kind:  uint16(schedMisstepRecordKindMISSTEP_RECORD_DECISION),
		Event: uint16(schedMisstepEventMISSTEP_EVENT_EXPIRY), Role: uint16(schedMisstepRoleMISSTEP_ROLE_VM),
		Marks: uint16(schedMisstepMarkMISSTEP_MARK_STARVED), Comm: [16]int8{'n', 'a', 'm', 'e'},
	}
	assert.Equal(t, bytesOf(t, k), r.Append(nil))
	assert.Equal(t, r, schedule.ParseRecord(r.Append(nil)))
}

// The generated files are committed. Another release of the compiler may generate other code, so only the same release is compared.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: not compiling")
	}
	out, err := exec.Command("clang-19", "--version").Output()
	if err != nil {
		t.Skipf("no clang-19 (bpf/install.sh): %v", err)
	}
	if !strings.Contains(string(out), "version 19.1.7") {
		t.Skipf("the object was made by clang 19.1.7, this is %s", strings.SplitN(string(out), "\n", 2)[0])
	}
	if _, err := os.Stat("/usr/include/bpf/bpf_helpers.h"); err != nil {
		t.Skipf("no libbpf-dev (bpf/install.sh): %v", err)
	}
	dir := t.TempDir()
	text, err := os.ReadFile("gen.go")
	require.NoError(t, err)
	_, directive, found := strings.Cut(string(text), "//go:generate ")
	require.True(t, found)
	args := strings.Fields(strings.SplitN(directive, "\n", 2)[0])
	for i, arg := range args {
		if arg == "-go-package" {
			args = append(args[:i], append([]string{"-output-dir", dir}, args[i:]...)...)
			break
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "GOPACKAGE=bpf", "GOFLAGS=-mod=mod")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, name := range []string{"sched_bpfel.go", "sched_bpfel.o"} {
		committed, err := os.ReadFile(name)
		require.NoError(t, err)
		made, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, sha256.Sum256(made), sha256.Sum256(committed), "%s is stale: run go generate ./bpf", name)
	}
}
