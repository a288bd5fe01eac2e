package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// oldMiddleNew returns the JDKs 8, 17 and 25 of the catalogue.
func oldMiddleNew(t *testing.T) []jvm {
	t.Helper()
	var found []jvm
	seen := map[int]bool{}
	for _, j := range catalogued(t) {
		if (j.feature == 8 || j.feature == 17 || j.feature == 25) && !seen[j.feature] {
			seen[j.feature] = true
			found = append(found, j)
		}
	}
	return found
}

// requireKnown asserts that every mismatch has its record and that all but at most the given number of samples are a known bug of
// the JDK.
func requireKnown(t *testing.T, j jvm, o Options, r result, most uint64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(o.Out, "mismatches.jsonl"))
	require.NoError(t, err)
	recorded := map[string]uint64{}
	var unknown []string
	others := uint64(0)
	for line := range bytes.Lines(data) {
		var m misstepv1.Mismatch
		require.NoErrorf(t, protojson.Unmarshal(line, &m), "record %q", line)
		recorded[m.GetCheck()] += m.GetCount()
		signature, title := triage.Mismatch(&m)
		text := strings.Join(signature.GetParts(), " | ")
		label := known.Default().Label(signature, j.version)
		t.Logf("%d of %s: %s", m.GetCount(), label, text)
		if label == "" {
			if len(m.GetCode()) > 0 { // of a signal
				others += m.GetCount()
			} else {
				others += most + 1
			}
			unknown = append(unknown, fmt.Sprintf("%d of %s (%s)\n%s", m.GetCount(), text, title, line))
		}
	}
	for _, c := range r.status.Checks {
		require.Equalf(t, c.Mismatch, recorded[c.Name], "mismatches of %s without a record", c.Name)
	}
	require.LessOrEqualf(t, others, most, "mismatches that are not a known bug: %v", unknown)
}

// instrumented and bracketed return the two sets of options that together have all checks: brackets need no instrumented methods.
func instrumented(t *testing.T, include string) Options {
	t.Helper()
	return Options{
		Seed: 1, Out: t.TempDir(), Include: []string{include}, Interval: 100 * time.Microsecond, Jitter: 0.5, MaxMismatches: 4096,
		Liveness: 5 * time.Millisecond,
		Checks:   map[string]float64{"gst-asgct": 0.002, "shadow-gst": 0.002, "asgct-shadow": 1, "edges": 1, "liveness": 1},
	}
}

func bracketed(t *testing.T) Options {
	t.Helper()
	return Options{
		Seed: 1, Out: t.TempDir(), Interval: 100 * time.Microsecond, Jitter: 0.5, MaxMismatches: 4096,
		Liveness: 5 * time.Millisecond,
		Checks:   map[string]float64{"asgct-gst-bracket": 1, "edges": 1, "liveness": 1},
	}
}

// checked reports whether each check that is on matched, or was tolerated by a rule, more than the given number of times.
func checked(o Options, r result, least uint64) bool {
	return !slices.ContainsFunc(r.status.Checks, func(c CheckCount) bool {
		return o.Checks[c.Name] > 0 && c.Match+sum(c.Tolerated) <= least
	})
}

// requireChecked asserts that each check that is on matched, or was tolerated by a rule, more than the given number of times.
func requireChecked(t *testing.T, o Options, r result, least uint64) {
	t.Helper()
	for _, c := range r.status.Checks {
		t.Logf("%+v", c)
		if o.Checks[c.Name] > 0 {
			require.Greaterf(t, c.Match+sum(c.Tolerated), least, "%s: %+v", c.Name, c)
		}
	}
	require.Zero(t, r.check("shadow-gst").Mismatch)
	require.Zero(t, r.check("liveness").Mismatch)
}

// printed returns the number that the program printed before a word.
func printed(t *testing.T, r result, word string) int {
	t.Helper()
	m := regexp.MustCompile(`(\d+) ` + word).FindStringSubmatch(r.output)
	require.NotNil(t, m, r.output)
	n, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	return n
}

// Thousands of classes are loaded and unloaded while their methods are checked: the agent's data about a class outlives it, and no
// class is taken for another.
func TestClassesThatAreUnloaded(t *testing.T) {
	for _, j := range oldMiddleNew(t) {
		for name, o := range map[string]Options{"instrumented": instrumented(t, "Unloaded*"), "brackets": bracketed(t)} {
			t.Run(j.String()+"/"+name, func(t *testing.T) {
				o.Out = t.TempDir()
				r := runUntil(t, built(t), j, o, func(r result) bool { return checked(o, r, 110) }, nil, "Unloaded", spent)
				requireSound(t, r)
				require.Contains(t, r.output, "unloaded: verified")
				t.Log(strings.TrimSpace(r.output))
				require.NotZero(t, printed(t, r, "classes"))
				requireChecked(t, o, r, 100)
				requireKnown(t, j, o, r, 0)
			})
		}
	}
}
