package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/corpus"
	"misstep/corpus/memory"
	"misstep/deploy/vm"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/workloads"
)

// stand is an Executor whose machine is a function of the test.
func stand(t *testing.T, machine func(c vm.Config, command []string, stdout io.Writer) (vm.Result, error)) *Executor {
	t.Helper()
	jdk := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(jdk, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(jdk, "bin", "java"), nil, 0o755))
	return &Executor{
		JDK: func(context.Context, *misstepv1.Jdk) (string, int, error) { return jdk, 17, nil },
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			return "/w", workloads.Manifest{}, nil
		},
		Corpus: memory.New(), Scratch: filepath.Join(t.TempDir(), "machines"), PatchCache: "/patches", Home: "/home",
		Program: "/bin/misstep", Command: []string{"trial"},
		Accelerator: func(context.Context, string) (vm.Accel, error) { return vm.AccelTCG, nil },
		Boot: func(_ context.Context, c vm.Config, command []string, stdout, _ io.Writer) (vm.Result, error) {
			require.NoError(t, os.MkdirAll(filepath.Join(c.EvidenceDir, dirFiles), 0o755))
			return machine(c, command, stdout)
		},
	}
}

func minimal(executor string) *misstepv1.Recipe {
	return &misstepv1.Recipe{Executor: executor, Seed: 9, Limits: &misstepv1.Limits{
		Wall:      durationpb.New(time.Minute),
		MemoryMib: 512,
	}}
}

// leave makes a guest that leaves these files.
func leave(files map[string]string) func(vm.Config, []string, io.Writer) (vm.Result, error) {
	return func(c vm.Config, _ []string, stdout io.Writer) (vm.Result, error) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(c.EvidenceDir, name), []byte(text), 0o600); err != nil {
				return vm.Result{}, err
			}
		}
		fmt.Fprint(stdout, "last words")
		return vm.Result{Exit: 3, Notes: []string{"a note"}}, nil
	}
}

func TestMachinesOfARecipe(t *testing.T) {
	for executor, check := range map[string]func(c vm.Config, j job, inside *misstepv1.Recipe){
		Shared: func(c vm.Config, j job, inside *misstepv1.Recipe) {
			assert.Equal(t, vm.ModeShared, c.Mode)
			assert.Equal(t, 10*time.Minute, inside.GetLimits().GetWall().AsDuration(), "qemu translates")
			assert.Empty(t, c.Trees)
			assert.Zero(t, c.Seed)
			assert.FileExists(t, filepath.Join(j.Jdk, "bin", "java"), "the host's path")
			assert.Equal(t, job{Jdk: j.Jdk, Feature: 17, Workload: "/w", Patches: "/patches"}, j)
			assert.Equal(t, "mine", inside.GetJdk().GetName())
		},
		Deterministic: func(c vm.Config, j job, inside *misstepv1.Recipe) {
			assert.Equal(t, vm.ModeDeterministic, c.Mode)
			assert.Equal(t, time.Minute, inside.GetLimits().GetWall().AsDuration(), "of the guest's own")
			assert.Len(t, c.Trees, 4)
			assert.Equal(t, uint64(9), c.Seed)
			assert.Equal(t, job{Jdk: "/trial/jdk", Feature: 17, Workload: "/trial/workload", Patches: "/trial/patches"}, j,
				"nothing tells where the files came from")
			assert.Equal(t, "jdk17", inside.GetJdk().GetName())
		},
	} {
		e := stand(t, func(c vm.Config, command []string, _ io.Writer) (vm.Result, error) {
			assert.True(t, c.Root)
			assert.Equal(t, 512+1024, c.Memory)
			program := map[string]string{Shared: "/bin/misstep", Deterministic: "/trial/misstep"}[executor]
			assert.Equal(t, []string{program, "trial"}, command[:2])
			path := command[2]
			for _, tree := range c.Trees {
				if tree.Guest == path {
					path = tree.Host
				}
			}
			j, err := readJob(path)
			require.NoError(t, err)
			inside, err := j.recipe()
			require.NoError(t, err)
			j.Recipe = nil
			check(c, j, inside)
			return leave(map[string]string{fileOutcome: `{"kind":"OUTCOME_KIND_CLEAN"}`})(c, command, io.Discard)
		})
		r := minimal(executor)
		r.Jdk = &misstepv1.Jdk{Name: "mine"}
		outcome, err := e.Run(t.Context(), r, nil)
		require.NoError(t, err)
		assert.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, outcome.GetKind())
		left, err := os.ReadDir(e.Scratch)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

func TestEvidenceIsHeldAgainstItsDigest(t *testing.T) {
	digest := corpus.DigestBytes([]byte("frames")).String()
	outcome := func(name, digest, size string) string {
		return `{"kind":"OUTCOME_KIND_CLEAN","evidence":[{"name":"` + name + `","digest":"` + digest + `","size":"` + size + `"}]}`
	}
	for want, text := range map[string]string{
		"":                      outcome("x", digest, "6"),
		"has 6 bytes, not 7":    outcome("x", digest, "7"),
		"digest":                outcome("x", corpus.DigestBytes([]byte("other")).String(), "6"),
		"no such file":          outcome("y", digest, "6"),
		"path escapes":          outcome("../outcome.json", digest, "6"),
		"lowercase hexadecimal": outcome("x", "sha256:nonsense", "6"),
	} {
		e := stand(t, leave(map[string]string{fileOutcome: text, dirFiles + "/x": "frames"}))
		got, err := e.Run(t.Context(), minimal(Shared), nil)
		if want == "" {
			require.NoError(t, err)
			d, err := corpus.ParseDigest(got.GetEvidence()[0].GetDigest())
			require.NoError(t, err)
			blob, _, err := e.Corpus.Open(t.Context(), d)
			require.NoError(t, err)
			require.NoError(t, blob.Close())
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

func TestFailuresOfMachinesAreOurs(t *testing.T) {
	for _, c := range []struct {
		name      string
		machine   func(vm.Config, []string, io.Writer) (vm.Result, error)
		want      string
		permanent bool
	}{
		{
			"the guest's own", leave(map[string]string{fileFailure: `{"message":"disk full"}`}),
			"in the virtual machine: disk full", false,
		},
		{"permanent", leave(map[string]string{fileFailure: `{"message":"no strategy","permanent":true}`}), "no strategy", true},
		{"silent", leave(nil), "wrote no outcome (exit code 3): stat", false},
		{"last words are told", leave(nil), "last words a note", false},
		{"torn", leave(map[string]string{fileOutcome: `{"kind":`}), "the guest's outcome.json", false},
		{"too large", leave(map[string]string{fileOutcome: strings.Repeat(" ", maxMessage+1)}), "at most 8388608 are accepted", false},
		{"died", func(vm.Config, []string, io.Writer) (vm.Result, error) { return vm.Result{}, vm.ErrDied }, "the machine died", false},
		{"unavailable", func(vm.Config, []string, io.Writer) (vm.Result, error) {
			return vm.Result{}, fmt.Errorf("vm: %w: qemu is not here", vm.ErrUnavailable)
		}, "qemu is not here", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := stand(t, c.machine).Run(t.Context(), minimal(Shared), nil)
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, c.permanent, runner.IsPermanent(err))
		})
	}
}

// A machine that dies once it has brought everything out takes nothing with it; one that dies before leaves nothing to believe.
func TestOutcomeOfAMachineThatDiedAtItsEnd(t *testing.T) {
	digest := corpus.DigestBytes([]byte("frames")).String()
	outcome := `{"kind":"OUTCOME_KIND_CRASH","evidence":[{"name":"x","digest":"` + digest + `","size":"6"}]}`
	for name, c := range map[string]struct {
		files  map[string]string
		record string
		whole  bool
	}{
		"whole":             {map[string]string{fileOutcome: outcome, dirFiles + "/x": "frames"}, "", true},
		"torn evidence":     {map[string]string{fileOutcome: outcome, dirFiles + "/x": "fram"}, "", false},
		"torn outcome":      {map[string]string{fileOutcome: outcome[:20], dirFiles + "/x": "frames"}, "", false},
		"nothing":           {nil, "", false},
		"half a recording":  {map[string]string{fileOutcome: outcome, dirFiles + "/x": "frames"}, "recording", false},
		"a failure of ours": {map[string]string{fileFailure: `{"message":"disk full"}`}, "", false},
	} {
		e := stand(t, func(config vm.Config, command []string, stdout io.Writer) (vm.Result, error) {
			result, err := leave(c.files)(config, command, stdout)
			return result, errors.Join(fmt.Errorf("%w while powering off", vm.ErrDied), err)
		})
		e.Record = c.record
		recipe := minimal(Shared)
		if c.record != "" {
			recipe.Executor = Deterministic
		}
		got, err := e.Run(t.Context(), recipe, nil)
		if c.whole {
			require.NoError(t, err, name)
			require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, got.GetKind())
			continue
		}
		require.ErrorIs(t, err, vm.ErrDied, name)
	}
}

func TestRefusedRecipes(t *testing.T) {
	never := func(vm.Config, []string, io.Writer) (vm.Result, error) {
		return vm.Result{}, errors.New("it was booted")
	}
	e := stand(t, never)
	e.Record = "recording"
	for _, executor := range []string{"", Shared} {
		_, err := e.Run(t.Context(), minimal(executor), nil)
		require.ErrorContains(t, err, "only executor vm-deterministic can be recorded")
	}
	_, err := stand(t, never).Run(t.Context(), minimal("host"), nil)
	require.ErrorContains(t, err, "does not boot virtual machines")
	checked := minimal(Shared)
	checked.Checks = []*misstepv1.Check{{Name: "liveness"}}
	_, err = stand(t, never).Run(t.Context(), checked, nil)
	require.ErrorContains(t, err, "no agent")
}

func TestMainLeavesAFailure(t *testing.T) {
	dir := t.TempDir()
	require.Error(t, Main(t.Context(), filepath.Join(dir, "gone"), dir, nil))
	path := filepath.Join(dir, "job.json")
	require.NoError(t, job{Recipe: []byte(`{"seed":"1"}`), Workload: filepath.Join(dir, "gone")}.write(path))
	require.NoError(t, Main(t.Context(), path, dir, nil))
	failure := &misstepv1.InfrastructureFailure{}
	require.NoError(t, readMessage(dir, fileFailure, failure))
	assert.Contains(t, failure.GetMessage(), "gone")
}

func TestAvailable(t *testing.T) {
	checks := []vm.Check{
		{Name: "qemu", OK: true},
		{Name: "virtiofsd", Mode: vm.ModeShared, OK: true},
		{Name: "busybox", Mode: vm.ModeDeterministic, OK: true},
		{Name: "KVM", Mode: vm.ModeShared, Optional: true},
	}
	assert.Equal(t, []string{Shared, Deterministic}, Available(checks))
	checks[1].OK = false
	assert.Equal(t, []vm.Check{checks[1]}, Lacks(Shared, checks))
	assert.Empty(t, Lacks(Deterministic, checks))
	assert.Equal(t, []string{Deterministic}, Available(checks))
	checks[0].OK = false
	assert.Empty(t, Available(checks))
}
