package executors

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/bpf"
)

// A scheduler that is in force when a command begins is no reason to have none later.
func TestSchedulerOfAnotherRun(t *testing.T) {
	turn := fmt.Errorf("%w: %w (%w)", bpf.ErrUnsupported, bpf.ErrBusy, bpf.ErrTurn)
	foreign := fmt.Errorf("%w: %w", bpf.ErrUnsupported, bpf.ErrBusy)
	assert.True(t, schedulerUsable(nil))
	assert.True(t, schedulerUsable(turn))
	assert.False(t, schedulerUsable(foreign), "which does not end by itself")
	assert.False(t, schedulerUsable(errors.New("no sched_ext")))
}
