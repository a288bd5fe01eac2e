package cireport_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/cireport"
)

var update = flag.Bool("update", false, "write the golden files anew")

func report() cireport.Report {
	return cireport.Report{
		Command: "misstep check", Version: "1.2.3", Time: 2500 * time.Millisecond,
		Cases: []cireport.Case{
			{Group: "check", Name: "gst-asgct", State: cireport.Passed, Summary: "7 of 7 agree"},
			{Group: "check", Name: "liveness", State: cireport.Skipped, Summary: "nothing was compared"},
			{
				Group: "limit", Name: "max-spoiled of asgct", State: cireport.Failed,
				Summary: "12 of 100 samples are wrong or cut off: 100% too many, as it were",
			},
			{
				Group: "finding", Name: "F0123456789ab", State: cireport.Failed, Rule: "asgct-shadow/truncated",
				Summary: "the stack is cut off at <clinit> & \"quoted\"", Detail: "20 times\nlines, with: marks\x1b[31m",
				Artifact: "lib/my app.jar",
			},
			{
				Group: "finding", Name: "JDK-8303444", State: cireport.Allowed, Rule: "asgct-shadow/truncated",
				Summary: "known as JDK-8303444", Artifact: "/abs/app.jar",
			},
		},
	}
}

// Each form is what it was, byte by byte.
func TestForms(t *testing.T) {
	junit, err := report().JUnit()
	require.NoError(t, err)
	log, err := report().SARIF()
	require.NoError(t, err)
	for name, text := range map[string]string{
		"junit.xml": string(junit), "sarif.json": string(log), "annotations.txt": report().Annotations(),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), text, "%s: go test ./app/cireport -update writes it anew", name)
	}
}

// The log is valid by OASIS' schema of SARIF 2.1.0, also one without a result, and the schema refuses what is wrong.
func TestSARIFIsValid(t *testing.T) {
	for _, r := range []cireport.Report{report(), {Command: "misstep check", Version: "1"}} {
		text, err := r.SARIF()
		require.NoError(t, err)
		log, err := sarif.FromBytes(text)
		require.NoError(t, err)
		require.NoError(t, log.Validate())
	}
	text, err := report().SARIF()
	require.NoError(t, err)
	log, err := sarif.FromBytes([]byte(strings.Replace(string(text), `"error"`, `"awful"`, 1)))
	require.NoError(t, err)
	require.Error(t, log.Validate())
}

// What a viewer shows as the results: allowed ones are suppressed, passed ones are none.
func TestSARIFResults(t *testing.T) {
	text, err := report().SARIF()
	require.NoError(t, err)
	var log struct {
		Runs []struct {
			Results []struct {
				Level        string
				Suppressions []any
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &log))
	require.Len(t, log.Runs, 1)
	var levels []string
	for _, r := range log.Runs[0].Results {
		levels = append(levels, r.Level)
		assert.Equal(t, r.Level == "note", len(r.Suppressions) == 1)
	}
	assert.Equal(t, []string{"error", "error", "note"}, levels)
}

func TestFilesAreWritten(t *testing.T) {
	dir := t.TempDir()
	files := cireport.Files{JUnit: filepath.Join(dir, "junit.xml"), SARIF: filepath.Join(dir, "s.sarif")}
	require.NoError(t, os.WriteFile(files.JUnit, []byte("of an earlier run"), 0o600))
	require.NoError(t, files.Prepare())
	require.NoFileExists(t, files.JUnit)
	require.NoError(t, files.Write(report()))
	for _, path := range []string{files.JUnit, files.SARIF} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NotEmpty(t, text)
	}
	require.ErrorContains(t, cireport.Files{JUnit: filepath.Join(dir, "missing", "x")}.Prepare(), "no such file")
	require.NoError(t, cireport.Files{}.Write(report()))
}
