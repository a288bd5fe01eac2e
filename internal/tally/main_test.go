package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumCountsEveryShape(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nested.xml"), []byte(`<testsuites><testsuite>
<testcase classname="a" name="ok"/><testcase classname="a" name="bad"><failure message="Failed">=== RUN
  x.go:1: want 1</failure></testcase></testsuite></testsuites>`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flat.xml"), []byte(`<testsuite>
<testcase classname="b" name="left out"><skipped message="no JDK 25"/></testcase>
<testcase classname="b" name="broken"><error message="boom"/></testcase></testsuite>`), 0o600))
	var out bytes.Buffer
	require.ErrorContains(t, sum(dir, &out), "2 tests failed")
	require.Contains(t, out.String(), "FAILED  a bad: x.go:1: want 1\n")
	require.Contains(t, out.String(), "SKIPPED b left out: no JDK 25\n")
	require.Contains(t, out.String(), "1 passed, 2 failed, 1 skipped\n")
}

func TestSumNamesTheSlowest(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.xml"), []byte(`<testsuite name="pkg/a" time="330.5">
<testcase classname="a" name="quick" time="9.9"/><testcase classname="a" name="slow" time="10.000000"/>
<testcase classname="a" name="failed" time="307.27"><failure message="Failed"/></testcase>
<testcase classname="a" name="without"/></testsuite>`), 0o600))
	var out bytes.Buffer
	require.Error(t, sum(dir, &out))
	require.Contains(t, out.String(), "\nTOOK     307.3 s  a failed\nTOOK      10.0 s  a slow\n"+
		"PACKAGE  330.5 s  pkg/a\n3 passed, 1 failed, 0 skipped\n")
}

func TestSumOfNothingIsAnError(t *testing.T) {
	require.ErrorContains(t, sum(t.TempDir(), io.Discard), "no test ran")
}

func TestRecordKeepsTheFailure(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, run([]string{"run", "good", dir + "/x/good.xml", "--", "true"}, io.Discard, io.Discard))
	require.NoError(t, run([]string{"run", "bad", dir + "/x/bad.xml", "--", "false"}, io.Discard, io.Discard))
	var out bytes.Buffer
	require.Error(t, sum(dir, &out))
	require.Contains(t, out.String(), "1 passed, 1 failed, 0 skipped\n")
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"sum"}, {"run", "a", "b", "c"}, {"run", "a", "b", "--"}} {
		require.ErrorIs(t, run(args, io.Discard, io.Discard), errUsage)
	}
}
