package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// On a full disk no command ends well, however it writes, and it says so once.
func TestOutputThatIsNotWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, args := range [][]string{{"checks"}, {"checks", "--json"}, {"known", "list"}, {"--version"}, {"checks", "--help"}} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitOK, run(t.Context(), args, &stdout, &stderr), args)
		assert.Empty(t, stderr.String(), args)
		assert.Equal(t, exitFailed, run(t.Context(), args, full, &stderr), args)
		assert.Equal(t, 1, strings.Count(stderr.String(), "no space left on device"), "%v: %s", args, stderr.String())
	}
}

// A program that is started has the file itself for its output, and not a pipe.
func TestOutputOfAProgramIsTheFileItself(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	defer file.Close()
	out := &output{Writer: file}
	assert.Same(t, file, fileOf(out))
	assert.Same(t, file, fileOf(file))
	assert.Nil(t, fileOf(&output{Writer: &bytes.Buffer{}}))
	script := exec.CommandContext(t.Context(), "sh", "-c", `readlink /proc/self/fd/1`)
	script.Stdout = direct(out)
	require.NoError(t, script.Run())
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Equal(t, file.Name()+"\n", string(text))
}
