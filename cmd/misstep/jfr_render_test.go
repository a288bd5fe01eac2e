package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/jfrcheck"
)

// longName is as long as real ones are.
const longName = "org.example.application.server.internal.RequestDispatcherImplementation.dispatchToHandlerChain"

func longReport() *jfrcheck.Report {
	counts := jfrcheck.Counts{Samples: 1_234_567, Empty: 1234, Truncated: 56_789, Failed: 12, Lost: 98_765}
	r := &jfrcheck.Report{
		Recordings: []jfrcheck.Recording{{
			File: "production.jfr", Form: "gzip", Profiler: "jfr", Writers: []string{"jfr"}, Bytes: 123 << 20, Chunks: 11,
			Begin: time.Unix(0, 0), End: time.Unix(3600, 0),
			Problems: []jfrcheck.Problem{{Chunk: 10, Offset: 123_456_789, Message: "the file ends in the header of the chunk"}},
		}},
		Checks: []jfrcheck.Check{
			{Name: "jfr-chunks", Right: 1_234_567, Tolerated: map[string]uint64{"sampled-before-rotation": 12}},
			{Name: "event-edges", Skipped: "needs class files: give --jdk and --classpath"},
		},
		Samplers: []jfrcheck.Sampler{
			{Event: "jdk.ExecutionSample", Counts: counts, Asked: "20 ms", Median: 20_123_456, P90: 41 * time.Millisecond},
		},
		Notes:   []string{"12 classes are on no class path given: org.example.application.Main"},
		Samples: counts.Samples, Touched: 36, Class: jfrcheck.TouchesSamples, Verdict: jfrcheck.VerdictTouched,
	}
	for range 12 {
		r.Faults = append(r.Faults, jfrcheck.Fault{
			Kind: "impossible-edge", Place: longName + " @ 17 calls " + longName, Count: 3, Detail: longName,
		})
	}
	for range 8 {
		r.Threads = append(r.Threads, jfrcheck.Thread{
			Group: jfrcheck.Group{Name: "http-nio-8080-exec-1", Counts: counts}, Median: 20 * time.Millisecond, P90: time.Second,
		})
		r.Methods = append(r.Methods, jfrcheck.Group{Name: longName, Counts: counts})
	}
	return r
}

// A report is a screenful: 80 columns wide, whatever the names are.
func TestReportFitsAScreen(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var b bytes.Buffer
	renderReport(&b, longReport())
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for _, line := range lines {
		assert.LessOrEqual(t, runewidth.StringWidth(line), 80, line)
	}
	assert.LessOrEqual(t, len(lines), 45)
	for _, want := range []string{
		"production.jfr: jfr, 123 MiB, 1h0m0s, 11 chunks", "chunk 10, offset 123456789: the file ends", "not made: needs class files",
		"and 11 more: --json or --html has all", "11.8%", "20.12ms", "samples without a whole stack: 11.8 %",
	} {
		assert.Contains(t, b.String(), want)
	}
	t.Setenv("COLUMNS", "240")
	b.Reset()
	renderReport(&b, longReport())
	whole := "impossible-edge: " + longName + " @ 17 calls " + longName + "\n"
	assert.Equal(t, 4, strings.Count(b.String(), whole), "where there is room")
	assert.Contains(t, b.String(), "and 8 more: --json or --html has all")
}

// What a recording says does not control the terminal.
func TestReportOfHostileNames(t *testing.T) {
	const text = "a\x1b[31m\nb"
	group := jfrcheck.Group{Name: text}
	fault := []jfrcheck.Fault{{Kind: text, Place: text, Detail: text, Known: text}}
	var b bytes.Buffer
	renderReport(&b, &jfrcheck.Report{
		Recordings: []jfrcheck.Recording{{File: text, Incomplete: text, Problems: []jfrcheck.Problem{{Message: text}}}},
		Faults:     fault, Doubts: fault, Samplers: []jfrcheck.Sampler{{Event: text, Asked: text}},
		Threads: []jfrcheck.Thread{{Group: group}}, Methods: []jfrcheck.Group{group},
		Notes: []string{text},
	})
	renderDiff(&b, &jfrcheck.Difference{
		A: jfrcheck.Side{File: text}, Notes: []string{text},
		Changes: []jfrcheck.Change{{Kind: "self", Method: text, Caller: text}},
		Stacks:  []jfrcheck.Change{{Kind: "stack", Stack: []string{text}}},
	})
	assert.NotContains(t, b.String(), "\x1b")
}

func TestDifferencesFitAScreen(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var b bytes.Buffer
	renderDiff(&b, &jfrcheck.Difference{
		A:     jfrcheck.Side{File: "a.jfr", Event: "jdk.ExecutionSample", Compared: 100},
		B:     jfrcheck.Side{File: "b.jfr", Event: "jdk.CPUTimeSample"},
		Level: 0.05, Compared: 1234,
		Changes: []jfrcheck.Change{{Kind: "caller", Method: longName, Caller: longName, A: 0.1, B: 0.25, Low: 0.1, High: 0.2, Q: 1.2e-7}},
		Stacks:  []jfrcheck.Change{{Kind: "stack", A: 0.01, Stack: []string{longName, longName}}},
	})
	for line := range strings.SplitSeq(b.String(), "\n") {
		assert.LessOrEqual(t, runewidth.StringWidth(line), 80, line)
	}
	assert.Contains(t, b.String(), "+15.0")
	b.Reset()
	renderDiff(&b, &jfrcheck.Difference{Compared: 7})
	assert.Contains(t, b.String(), "nothing differs beyond chance, of 7 shares compared")
}

func TestSizesOnTheCommandLine(t *testing.T) {
	var s sizeFlag
	require.NoError(t, s.UnmarshalText([]byte("2GiB")))
	assert.EqualValues(t, 2<<30, s)
	for _, bad := range []string{"", "0", "-1", "much", "1EiB"} {
		require.Error(t, s.UnmarshalText([]byte(bad)), bad)
	}
}
