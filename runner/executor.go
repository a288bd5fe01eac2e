package runner

import (
	"context"
	"errors"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Executor runs one recipe once. The loop calls Run from one goroutine for each slot, so it is safe for concurrent use.
//
// The outcome describes what the JVM did; a crash, a hang or a failing workload is an outcome. An error is an infrastructure
// failure, caused by the machine or by Misstep itself: the trial is repeated elsewhere unless IsPermanent reports true for it. When
// ctx ends, the trial is cancelled and Run returns ctx's error. In every case no process and no temporary folder of the trial is
// left.
//
// progress is called from any goroutine while Run runs, never after it has returned; the message passed is not changed afterwards.
// It may be nil.
type Executor interface {
	Run(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error)
}

// ProgressFunc receives the progress of a trial; see Executor.
type ProgressFunc = func(*misstepv1.Progress)

// ExecutorFunc adapts a function to an Executor.
type ExecutorFunc func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error)

// Run calls f.
func (f ExecutorFunc) Run(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
	return f(ctx, recipe, progress)
}

type permanentError struct{ cause error }

func (e permanentError) Error() string { return e.cause.Error() }
func (e permanentError) Unwrap() error { return e.cause }

// Permanent marks an infrastructure failure that a retry cannot fix, such as an unavailable JDK. Nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsPermanent reports whether an infrastructure failure is permanent. It is the only predicate that decides on retries.
func IsPermanent(err error) bool {
	var p permanentError
	return errors.As(err, &p)
}

// FailureOf converts an Executor's error into the message for the coordinator: one line of at most 2,000 bytes.
func FailureOf(err error) *misstepv1.InfrastructureFailure {
	message := strings.ToValidUTF8(strings.Join(strings.Fields(err.Error()), " "), "?")
	const maxBytes = 2000
	if len(message) > maxBytes {
		message = strings.ToValidUTF8(message[:maxBytes], "") + " …"
	}
	return &misstepv1.InfrastructureFailure{Message: message, Permanent: IsPermanent(err)}
}
