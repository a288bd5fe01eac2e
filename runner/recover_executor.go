package runner

import (
	"context"
	"fmt"
	"runtime/debug"

	misstepv1 "misstep/proto/misstep/v1"
)

// PanicError is a panic of an Executor, recovered by Recover. Error returns one line; Stack is for the log.
type PanicError struct {
	// Value passed to panic.
	Value any
	// Stack of the goroutine at the panic.
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("run trial: panic: %v", e.Value) }

// Recover returns an Executor that converts panics into infrastructure failures, so that a bug in Misstep costs one trial and not
// the runner with all its other trials. Go can recover panics of the calling goroutine only.
func Recover(next Executor) Executor {
	run := func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (outcome *misstepv1.Outcome, err error) {
		defer func() {
			if value := recover(); value != nil {
				outcome, err = nil, &PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		return next.Run(ctx, recipe, progress)
	}
	return decorator{run, next}
}
