package web

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
)

func newTexts() *answers[string] {
	return newAnswers(time.Second, func(s string) int { return len(s) }, time.Now)
}

// given returns what makes an answer out of what it is sent.
func given(value string, errs <-chan error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case err := <-errs:
			return value, err
		case <-ctx.Done():
			return "", status.FromContextError(ctx.Err()).Err() // as gRPC does
		}
	}
}

// ask asks for an answer in the background.
func (c *answers[T]) ask(ctx context.Context, make func(context.Context) (T, error)) (value <-chan T, err <-chan error) {
	values, errs := newChannel[T](), newChannel[error]()
	go func() {
		v, err := c.get(ctx, "key", make)
		values <- v
		errs <- err
	}()
	return values, errs
}

func newChannel[T any]() chan T { return make(chan T, 1) }

// Who calls too often, or may do no more what they did, is told so; whoever waits for the same answer is not.
func TestNobodyGetsAnErrorAboutSomebodyElse(t *testing.T) {
	for _, refused := range []error{
		access.ComeBack(time.Minute, "mallory calls ListBugs too often"), status.Error(codes.PermissionDenied, "mallory may not"),
		status.Error(codes.Unauthenticated, "the token of mallory was revoked"),
	} {
		for _, before := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c := newTexts()
				if before {
					_, err := c.get(t.Context(), "key", func(context.Context) (string, error) { return "old", nil })
					require.NoError(t, err)
					time.Sleep(time.Minute)
				}
				mallorys, annas, others := make(chan error), make(chan error), make(chan error)
				_, toMallory := c.ask(t.Context(), given("mallory's", mallorys))
				synctest.Wait()
				first, toAnna := c.ask(t.Context(), given("anna's", annas))
				synctest.Wait()
				second, toBen := c.ask(t.Context(), given("anna's", annas))
				synctest.Wait()
				mallorys <- refused
				require.Equal(t, refused, <-toMallory)
				annas <- nil
				require.NoError(t, <-toAnna)
				require.NoError(t, <-toBen)
				assert.Equal(t, []string{"anna's", "anna's"}, []string{<-first, <-second}, "made once for both")

				time.Sleep(time.Second) // it is shown no longer
				_, toMallory = c.ask(t.Context(), given("", mallorys))
				_, toBen = c.ask(t.Context(), given("", others))
				synctest.Wait()
				gone := status.Error(codes.NotFound, "there is no such finding")
				select {
				case mallorys <- gone:
				case others <- gone:
				}
				assert.Equal(t, gone, <-toMallory)
				assert.Equal(t, gone, <-toBen, "what is true for both")
				assert.Zero(t, c.kept.Len(), "an error takes no place")
				assert.Zero(t, c.bytes)
			})
		}
	}
}

// An answer that is still shown stays so when whoever has it made anew is refused.
func TestARefusedRenewalTakesNothingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		_, err := c.get(t.Context(), "key", func(context.Context) (string, error) {
			time.Sleep(200 * time.Millisecond)
			return "shown", nil
		})
		require.NoError(t, err)
		time.Sleep(2500 * time.Millisecond) // it is shown while a new one is made
		for range 3 {
			value, err := c.get(t.Context(), "key", func(context.Context) (string, error) {
				return "", status.Error(codes.ResourceExhausted, "mallory calls too often")
			})
			require.NoError(t, err)
			assert.Equal(t, "shown", value)
			synctest.Wait()
		}
	})
}

// Whoever leaves takes nothing from the others, and nobody waits for ever for what does not come, nor those who come later.
func TestAnAnswerIsWaitedForOnlySoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		never := make(chan error)
		ctx, leave := context.WithCancel(t.Context())
		_, toFirst := c.ask(ctx, given("late", never))
		synctest.Wait()
		value, toSecond := c.ask(t.Context(), given("", nil))
		synctest.Wait()
		leave()
		assert.Equal(t, codes.Canceled, status.Code(<-toFirst))
		never <- nil
		assert.Equal(t, "late", <-value)
		require.NoError(t, <-toSecond)

		time.Sleep(time.Minute)
		begin := time.Now()
		_, err := c.get(t.Context(), "key", given("", nil))
		assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
		assert.Equal(t, maxMaking, time.Since(begin))
		got, err := c.get(t.Context(), "key", func(context.Context) (string, error) { return "back", nil })
		require.NoError(t, err)
		assert.Equal(t, "back", got)
	})
}
