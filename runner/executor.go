package runner

import (
	"context"
	"errors"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Executor runs one recipe once. The loop calls Run from one goroutine for each slot, so it is safe for concurrent use.
//
// The outcome says what the JVM did; a crash, a hang or a failing workload is an outcome. The error says that the
// machine or Misstep itself got in the way (an infrastructure failure): the trial is repeated elsewhere unless
// IsPermanent holds for it. When ctx ends the trial is cut short and ctx's error comes back. Whatever comes back,
// no process and no temporary folder of the trial is left.
//
// progress is called now and then from any goroutine while Run runs, never after it has returned; the message passed is not
// changed afterwards. It may be nil.
type Executor interface {
	Run(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error)
}

// ProgressFunc takes a message of how far a trial has come; see Executor.
type ProgressFunc = func(*misstepv1.Progress)

// ExecutorFunc lets a function be an Executor.
type ExecutorFunc func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error)

// Run calls f.
func (f ExecutorFunc) Run(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
	return f(ctx, recipe, progress)
}

type permanentError struct{ cause error }

func (e permanentError) Error() string { return e.cause.Error() }
func (e permanentError) Unwrap() error { return e.cause }

// Permanent marks an infrastructure failure that no repetition mends, such as a JDK that cannot be had. Nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsPermanent is the one predicate that decides whether an infrastructure failure is worth another try.
func IsPermanent(err error) bool {
	var p permanentError
	return errors.As(err, &p)
}

// FailureOf turns an Executor's error into the message for the coordinator: one line of at most 2,000 bytes.
func FailureOf(err error) *misstepv1.InfrastructureFailure {
	message := strings.ToValidUTF8(strings.Join(strings.Fields(err.Error()), " "), "?")
	const most = 2000
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + " …"
	}
	return &misstepv1.InfrastructureFailure{Message: message, Permanent: IsPermanent(err)}
}
