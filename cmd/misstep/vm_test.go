package main

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/deploy/vm"
)

func TestVMCommandLine(t *testing.T) {
	t.Setenv("MISSTEP_HOME", t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "expected one of"},
		{[]string{"fly"}, 2, "unexpected argument fly"},
		{[]string{"--help"}, 0, ""},
		{[]string{"run"}, 2, "no command given"},
		{[]string{"run", "--mode", "fast", "--", "true"}, 2, "expected vm or vm-deterministic"},
		{[]string{"run", "--env", "A", "--", "true"}, 2, "NAME=VALUE"},
		{[]string{"kernel", "--suite", "trixie"}, 2, `suite "trixie": expected sid, testing, trixie-backports or experimental`},
		{[]string{"run", "--suite", "trixie", "--", "true"}, 2, `suite "trixie"`},
		{[]string{"run", "--record", "x", "--", "true"}, 125, "for the mode vm-deterministic"},
		{[]string{"replay"}, 2, "expected \"<recording>\""},
		{[]string{"replay", "/nonexistent"}, 125, "is not a recording"},
	} {
		code, _, stderr := execute(t, append([]string{"vm"}, c.args...)...)
		assert.Equal(t, c.code, code, "%v", c.args)
		assert.Contains(t, stderr, c.says, "%v", c.args)
	}
}

func TestVMExitCodes(t *testing.T) {
	code := func(result vm.Result, err error) int {
		exit, ok := errors.AsType[*exitError](vmExit(&env{stderr: io.Discard}, result, err))
		if !ok {
			return exitOK
		}
		return exit.code
	}
	for want, c := range map[int]struct {
		result vm.Result
		err    error
	}{
		0:   {vm.Result{}, nil},
		139: {vm.Result{Exit: 139, Signal: 11}, nil},
		124: {vm.Result{Exit: 137, Signal: 9, TimedOut: true}, nil},
		125: {vm.Result{}, fmt.Errorf("vm: %w", vm.ErrDied)},
	} {
		assert.Equal(t, want, code(c.result, c.err))
	}
	assert.Equal(t, 124, code(vm.Result{}, fmt.Errorf("vm: %w: limit of 1s", vm.ErrLimit)))
}
