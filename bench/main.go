package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// Main calls run with a context that an interrupt ends. If run fails, Main prints "bench-NAME: ERROR" on stderr and exits with
// code 1.
func Main(name string, run func(ctx context.Context, stdout io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench-%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Note prints a line with the time of day on stderr.
func Note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}
