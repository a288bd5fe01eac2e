package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What this process and its children write to the disk waits, and continues as soon as the disk is quick again.
func TestSlowDisk(t *testing.T) {
	d, err := newSlowDisk()
	if err != nil {
		t.Skip(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	took := func(f func() error) time.Duration {
		begin := time.Now()
		require.NoError(t, f())
		return time.Since(begin)
	}
	require.NoError(t, file.Sync())
	d.delay.Store(int64(300 * time.Millisecond))
	assert.GreaterOrEqual(t, took(file.Sync), 300*time.Millisecond)
	assert.GreaterOrEqual(t, took(exec.Command("sync", "--data", file.Name()).Run), 300*time.Millisecond)
	d.delay.Store(int64(time.Hour))
	time.AfterFunc(200*time.Millisecond, func() { d.delay.Store(0) })
	assert.GreaterOrEqual(t, took(file.Sync), 200*time.Millisecond)
}
