package runner

import (
	"context"
	"fmt"
	"runtime/debug"

	misstepv1 "misstep/proto/misstep/v1"
)

// PanicError is a panic of an Executor, caught by Recover. Error is one line; Stack is for the log.
type PanicError struct {
	// Value that was passed to panic.
	Value any
	// Stack of the goroutine at the panic.
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("run trial: panic: %v", e.Value) }

// Recover makes an Executor whose panics are infrastructure failures: a defect of ours costs one trial and not the runner
// with all its other trials. It sees panics of the calling goroutine only; that is a limit of Go.
func Recover(next Executor) Executor {
	return around{func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (outcome *misstepv1.Outcome, err error) {
		defer func() {
			if value := recover(); value != nil {
				outcome, err = nil, &PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		return next.Run(ctx, recipe, progress)
	}, next}
}
