package station

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"misstep/coordinator/store"
	"misstep/corpus"
)

// awayPause bounds the time between two attempts to open what is away.
const awayPause = 5 * time.Second

// await opens what a coordinator needs, and as long as that does not answer (store.ErrAway, corpus.ErrUnavailable) tries again,
// until patience is over or ctx ends. Any other error is returned at once. The log says once that it waits, and once that it does
// no more.
func await[T any](
	ctx context.Context, what string, patience time.Duration, logger *slog.Logger, open func() (T, error),
) (T, error) {
	began, waits := time.Now(), false
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 100*time.Millisecond, awayPause
	var last error
	opened, _ := backoff.Retry(ctx, func() (T, error) {
		opened, err := open()
		last = err
		switch {
		case err == nil:
		case !away(err) || patience <= 0:
			err = backoff.Permanent(err)
		case !waits:
			waits = true
			logger.ErrorContext(ctx, "the "+what+" does not answer; this coordinator waits for it before it serves",
				slog.Duration("at_most", patience), slog.Any("error", err))
		}
		return opened, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(patience))
	waited := time.Since(began).Round(time.Millisecond)
	switch {
	case waits && last == nil:
		logger.InfoContext(ctx, "the "+what+" answers", slog.Duration("after", waited))
	case waits && ctx.Err() != nil:
		last = fmt.Errorf("%w; the %s has not answered for %s: %w", context.Cause(ctx), what, waited, last)
	case waits && away(last):
		last = fmt.Errorf("the %s has not answered for %s: %w", what, waited, last)
	}
	return opened, last
}

func away(err error) bool {
	return errors.Is(err, store.ErrAway) || errors.Is(err, corpus.ErrUnavailable)
}
