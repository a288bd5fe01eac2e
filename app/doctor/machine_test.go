package doctor

import (
	"path/filepath"
	"testing"

	"github.com/alecthomas/assert/v2"
	"github.com/stretchr/testify/require"

	"misstep/app/local"
	"misstep/deploy/vm"
)

// Each kind of machine is told what it lacks itself.
func TestDoctorNamesWhatAMachineLacks(t *testing.T) {
	all := machines([]vm.Check{
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
	for _, d := range machines([]vm.Check{{Name: "qemu", OK: true}}) {
		assert.Equal(t, "ok", d.State)
	}
}

// A catalogue that is empty or not there is named, with the one that make hunt uses.
func TestDoctorNamesTheCatalogue(t *testing.T) {
	home := t.TempDir()
	assert.Contains(t, catalogues(home).Detail, home)
	gone := catalogues(filepath.Join(home, "gone"))
	assert.Equal(t, Missing, gone.State)
	assert.Contains(t, gone.Detail, filepath.Join(home, "gone"))
	assert.Contains(t, gone.Remedy, "build/home")
	empty := workloads(local.Installation{Home: home})
	assert.Equal(t, Missing, empty.State)
	assert.Contains(t, empty.Detail, filepath.Join(home, "workloads"))
	assert.Contains(t, empty.Remedy, "MISSTEP_HOME=build/home")
}
