package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signalError is the cause of the end of a command's context: the signal that asked the command to end.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return e.String() + " signal received" }

// Is makes it an error of a cancelled context.
func (e signalError) Is(target error) bool { return target == context.Canceled }

// untilSignal returns a context that ends at the first SIGINT or SIGTERM. A second one ends the process at once, unless the command
// asks for it: after the first the default action is back.
func untilSignal() context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Stop(signals) })
	go func() { end(signalError{<-signals}) }()
	return ctx
}
