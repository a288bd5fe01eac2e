package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxRepeats bounds how often one call repeats a transaction that was begun. Waiting for a server that is away does not count.
const maxRepeats = 10

// attemptError is the error of an attempt that is followed by another.
type attemptError struct {
	error
	// away means that no transaction could be begun.
	away bool
}

func (e *attemptError) Unwrap() error { return e.error }

// isConflict reports whether the database ended a transaction because of another one (class 40 of SQLSTATE).
func isConflict(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(e.Code) == 5 && e.Code[:2] == "40"
}

// refused are the SQLSTATEs with which a server that is there refuses a connection for good: waiting does not help.
var refused = map[string]bool{
	"28000": true, // the role must not connect
	"28P01": true, // the password is wrong
	"3D000": true, // there is no such database
	"42501": true, // the role lacks the right to connect
}

// isRefused reports whether the error of a connection is final.
func isRefused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused[e.Code]
}

// viewPatience is how long a View waits for a server that is away: somebody looks at an empty screen, or asks whether all is well.
// A test has less.
var viewPatience = 20 * time.Second

// repeat calls try until it succeeds, fails for good, or ctx ends, and waits for a server that is away for as long as patience.
func (s *Store) repeat(ctx context.Context, patience time.Duration, try func() error) error {
	begun := time.Now()
	var waitedFor error
	repeats := 0
	policy := &backoff.ExponentialBackOff{
		InitialInterval: 20 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 1.6, MaxInterval: time.Second,
	}
	_, err := backoff.Retry(ctx, func() (done struct{}, err error) {
		err = try()
		attempt, again := errors.AsType[*attemptError](err)
		if again {
			s.templates.Forget()
		}
		switch {
		case !again:
			s.outage.ends()
		case ctx.Err() != nil || isRefused(err):
			again = false
		case attempt.away:
			s.outage.begins(attempt.error)
			if again = time.Since(begun) < patience; !again {
				attempt.error = fmt.Errorf("the database does not answer: %w", awayError{attempt.error})
			}
		default:
			repeats++
			again = repeats <= maxRepeats
		}
		if again {
			waitedFor = attempt.error
			return done, err
		}
		if attempt != nil {
			err = attempt.error
		}
		if err != nil {
			err = backoff.Permanent(err)
		}
		return done, err
	}, backoff.WithBackOff(policy), backoff.WithMaxElapsedTime(0))
	if waitedFor != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("wait for the database: %w; before: %w", err, waitedFor)
	}
	return err
}

// outage says once in the log that the database is away, and once that it is back.
type outage struct {
	logger *slog.Logger

	mu    sync.Mutex
	since time.Time // zero while the database answers; guarded by mu
}

func (o *outage) begins(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since = time.Now()
		o.logger.Error("the database does not answer; calls wait for it", slog.Any("error", err))
	}
}

func (o *outage) ends() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() {
		o.logger.Info("the database answers again", slog.Duration("after", time.Since(o.since).Round(time.Millisecond)))
		o.since = time.Time{}
	}
}
