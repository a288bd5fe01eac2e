package jvm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/workloads"
)

// recorded judges a check of its own by what the JVM left in its working folder: each byte of the recording is a comparison, "x" a
// mismatch, "y" one that no outcome may have, "z" one of another check.
type recorded struct{ asked []string }

func (*recorded) judges(check string) bool { return check == "recorded" }

func (r *recorded) judge(_ context.Context, folder string, checks []*misstepv1.Check) (judgement, error) {
	for _, c := range checks {
		r.asked = append(r.asked, c.GetName())
	}
	data, err := os.ReadFile(filepath.Join(folder, dirWork, "recording"))
	if err != nil {
		return judgement{}, err
	}
	count := &misstepv1.CheckCount{Check: "recorded", Total: uint64(len(data))}
	out := judgement{counts: map[string]*misstepv1.CheckCount{"recorded": count}}
	for _, b := range data {
		switch b {
		case 'x':
			count.Mismatch++
		case 'y':
			count.Mismatch++
			out.mismatches = append(out.mismatches, &misstepv1.Mismatch{Check: "recorded", Kind: strings.Repeat("k", 1000)})
		case 'z':
			count.Mismatch++
			out.mismatches = append(out.mismatches, &misstepv1.Mismatch{Check: "another", Kind: "missing"})
		default:
			count.Match++
		}
	}
	if n := count.Mismatch - uint64(len(out.mismatches)); n > 0 {
		out.mismatches = append(out.mismatches, &misstepv1.Mismatch{Check: "recorded", Kind: "missing", Count: n})
	}
	return out, nil
}

// A check without a slot in the status file is judged when the JVM has ended, by what it left. It takes no agent.
func TestAJudgeAfterTheTrial(t *testing.T) {
	for recording, want := range map[string]struct {
		kind            misstepv1.OutcomeKind
		match, mismatch uint64
	}{
		"oooo": {misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, 4, 0},
		"oxox": {misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, 2, 2},
		"":     {misstepv1.OutcomeKind_OUTCOME_KIND_VOID, 0, 0},
	} {
		outcome, asked, err := runRecorded(t, "printf '"+recording+"' >recording", "recorded")
		require.NoError(t, err)
		require.Equal(t, want.kind, outcome.GetKind(), outcome.GetReason())
		require.Equal(t, []string{"recorded"}, asked)
		require.Len(t, outcome.GetChecks(), 1)
		require.Equal(t, want.match, outcome.GetChecks()[0].GetMatch())
		require.Equal(t, want.mismatch, outcome.GetChecks()[0].GetMismatch())
		require.Len(t, outcome.GetMismatches(), int(min(1, want.mismatch)))
	}
}

// What a coordinator would refuse is left out of an outcome, which says so; the rest is in it.
func TestAJudgeThatFindsTooMuch(t *testing.T) {
	for recording, kept := range map[string]int{"oyo": 0, "yxyo": 1, "z": 0} {
		outcome, _, err := runRecorded(t, "printf '"+recording+"' >recording", "recorded")
		require.NoError(t, err)
		require.Len(t, outcome.GetMismatches(), kept)
		failed := outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
		require.Equal(t, kept == 0, failed, outcome.GetReason())
		require.Equal(t, "records", outcome.GetApplicationFailure().GetReason())
	}
}

func TestAJudgeThatFails(t *testing.T) {
	_, _, err := runRecorded(t, "true", "recorded")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "judge recorded")
	outcome, _, err := runRecorded(t, "kill -SEGV $$", "recorded")
	require.NoError(t, err, "a crash is a finding, whatever the JVM left")
	require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, outcome.GetKind())
	_, asked, err := runRecorded(t, "true", "unheard-of")
	require.ErrorContains(t, err, `"unheard-of" is unknown`)
	require.Empty(t, asked)
	_, _, err = runRecorded(t, "true", recipe.GstAsgct)
	require.ErrorContains(t, err, "this runner has no agent")
}

// runRecorded runs a recipe with a check by an executor that has the judge. The JVM is a shell that does what it is told and
// verifies it.
func runRecorded(t *testing.T, does, check string) (*misstepv1.Outcome, []string, error) {
	t.Helper()
	home, program := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "bin"), 0o755))
	text := "#!/bin/sh\n" + does + "\necho misstep: w verified 1 repetitions\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, "bin", "java"), []byte(text), 0o755))
	fake := &recorded{}
	executor := &Executor{
		JDK: func(context.Context, *misstepv1.Jdk) (string, int, error) { return home, 17, nil },
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			return program, workloads.Manifest{
				Name: "w", Main: "M", Classpath: []string{"."}, Harness: workloads.HarnessPlain,
				Repetitions: 1,
			}, nil
		},
		Scratch: t.TempDir(), judges: []judge{fake},
	}
	outcome, err := executor.Run(t.Context(), &misstepv1.Recipe{Checks: []*misstepv1.Check{{Name: check}}}, nil)
	return outcome, fake.asked, err
}

// A check without a judge would make every trial that asks for it an infrastructure failure.
func TestEveryCheckHasAJudge(t *testing.T) {
	for _, c := range recipe.Checks() {
		require.True(t, (&Executor{}).canJudge(c.Name), "no judge gives the verdicts of %s: add one to (*trial).judges", c.Name)
	}
}
