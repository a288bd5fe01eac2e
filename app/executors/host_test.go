package executors

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/bpf"
)

// A scheduler that is in force when a command begins is no reason to run its JVMs as root, or to have no scheduler later.
func TestSchedulerOfAnotherRun(t *testing.T) {
	t.Setenv("SUDO_UID", "1000")
	t.Setenv("SUDO_GID", "1001")
	turn := fmt.Errorf("%w: %w (%w)", bpf.ErrUnsupported, bpf.ErrBusy, bpf.ErrTurn)
	foreign := fmt.Errorf("%w: %w", bpf.ErrUnsupported, bpf.ErrBusy)
	for name, supported := range map[string]error{"none": nil, "of misstep": turn, "of somebody else": foreign} {
		user := unprivileged(0, supported)
		require.NotNil(t, user, name)
		assert.Equal(t, [2]uint32{1000, 1001}, [2]uint32{user.Uid, user.Gid}, name)
		assert.Nil(t, unprivileged(1000, supported), name)
	}
	assert.Nil(t, unprivileged(0, bpf.ErrUnsupported), "JVMs run as this process does")

	assert.True(t, schedulerUsable(nil))
	assert.True(t, schedulerUsable(turn))
	assert.False(t, schedulerUsable(foreign), "which does not end by itself")
	assert.False(t, schedulerUsable(errors.New("no sched_ext")))
}
