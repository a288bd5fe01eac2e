package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/bpf"
	"misstep/deploy/vm"
)

// A scheduler that is in force when a command begins is no reason to run its JVMs as root, or to have no scheduler later.
func TestSchedulerOfAnotherRun(t *testing.T) {
	t.Setenv("SUDO_UID", "1000")
	t.Setenv("SUDO_GID", "1001")
	turn := fmt.Errorf("%w: %w (%w)", bpf.ErrUnsupported, bpf.ErrBusy, bpf.ErrTurn)
	foreign := fmt.Errorf("%w: %w", bpf.ErrUnsupported, bpf.ErrBusy)
	for name, supported := range map[string]error{"none": nil, "of misstep": turn, "of somebody else": foreign} {
		user := ordinaryOf(0, supported)
		require.NotNil(t, user, name)
		assert.Equal(t, [2]uint32{1000, 1001}, [2]uint32{user.Uid, user.Gid}, name)
		assert.Nil(t, ordinaryOf(1000, supported), name)
	}
	assert.Nil(t, ordinaryOf(0, bpf.ErrUnsupported), "JVMs run as this process does")

	assert.True(t, takesTurns(nil))
	assert.True(t, takesTurns(turn))
	assert.False(t, takesTurns(foreign), "which does not end by itself")
	assert.False(t, takesTurns(errors.New("no sched_ext")))
}

// Each kind of machine is told what it lacks itself.
func TestDoctorNamesWhatAMachineLacks(t *testing.T) {
	all := machinesOf([]vm.Check{
		{Name: "qemu", OK: true},
		{Name: "virtiofsd", Mode: vm.ModeShared, Detail: "no virtiofsd", Remedy: "install virtiofsd"},
		{Name: "busybox", Mode: vm.ModeDeterministic, Detail: "no busybox", Remedy: "install busybox"},
		{Name: "KVM", Mode: vm.ModeShared, Detail: "no KVM", Optional: true},
	})
	require.Len(t, all, 2)
	for i, want := range []string{"virtiofsd", "busybox"} {
		assert.Equal(t, "limited", all[i].State)
		assert.Contains(t, all[i].Detail, "no "+want)
		assert.Contains(t, all[i].Remedy, "install "+want)
	}
	for _, d := range machinesOf([]vm.Check{{Name: "qemu", OK: true}}) {
		assert.Equal(t, "ok", d.State)
	}
}
