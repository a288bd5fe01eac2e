package runner

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

func giving(outcome *misstepv1.Outcome, err error) Executor {
	return ExecutorFunc(func(context.Context, *misstepv1.Recipe, func(*misstepv1.Progress)) (*misstepv1.Outcome, error) {
		return outcome, err
	})
}

func TestStampFillsInWhatIsMissing(t *testing.T) {
	recipe := &misstepv1.Recipe{Seed: 7}
	digest, err := misstepv1.RecipeDigest(recipe)
	require.NoError(t, err)
	known := &misstepv1.Outcome{Wall: durationpb.New(5 * time.Second)}
	outcome, err := Stamp(giving(known, nil), stepClock{}, "host").Run(t.Context(), recipe, nil)
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, outcome.GetWall().AsDuration(), "what the executor measured stays")
	require.Equal(t, time.Unix(1e9, 0), outcome.GetStarted().AsTime().Local())
	require.Equal(t, digest, outcome.GetRecipeDigest())
	require.Equal(t, "host", outcome.GetHost())
}

func TestCountAccountsForEveryTrial(t *testing.T) {
	var counts Counts
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	void := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID}
	_, _ = Count(giving(void, nil), &counts).Run(t.Context(), nil, nil)
	_, _ = Count(giving(nil, errors.New("x")), &counts).Run(t.Context(), nil, nil)
	_, _ = Count(giving(nil, context.Canceled), &counts).Run(cancelled, nil, nil)
	require.Equal(t, Totals{
		Started: 3, Failed: 1, Cancelled: 1,
		Outcomes: map[misstepv1.OutcomeKind]uint64{misstepv1.OutcomeKind_OUTCOME_KIND_VOID: 1},
	}, counts.Totals())
}

func TestLogSaysHowATrialEnded(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	void := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Reason: "why"}
	_, _ = Log(giving(void, nil), logger, stepClock{}).Run(t.Context(), &misstepv1.Recipe{}, nil)
	require.Contains(t, log.String(), "outcome=void reason=why")
	_, _ = Log(giving(nil, Permanent(errors.New("no JDK"))), logger, stepClock{}).Run(t.Context(), &misstepv1.Recipe{}, nil)
	require.Contains(t, log.String(), "permanent=true")
}

func TestFailureIsOneBoundedLine(t *testing.T) {
	failure := FailureOf(errors.New("a\n\tb\xff" + string(bytes.Repeat([]byte("é"), 3000))))
	require.NotContains(t, failure.GetMessage(), "\n")
	require.Less(t, len(failure.GetMessage()), 2010)
	require.False(t, failure.GetPermanent())
}
