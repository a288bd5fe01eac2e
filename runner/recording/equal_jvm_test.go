package recording

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// records are those of a recording: in is what comes in order, sums are what a chunk's constants and times come to.
type records struct {
	in      []Record
	sums    []string
	summary Summary
}

func recordsOf(t *testing.T, read reading, file string) (all records) {
	t.Helper()
	limits := Limits{ChunkBytes: 128 << 20, OutputBytes: 1 << 40, Bytes: 1 << 40}
	var err error
	all.summary, err = read(t.Context(), file, limits, func(r Record) error {
		switch r := r.(type) {
		case *Pool, *Link, *Differing, *Fault, *Window:
			text, err := json.Marshal(r)
			all.sums = append(all.sums, fmt.Sprintf("%T %s", r, text))
			return err
		case *Touched: // JMC does not follow references
			return nil
		default:
			all.in = append(all.in, r)
			return nil
		}
	})
	require.NoError(t, err)
	slices.Sort(all.sums)
	return all
}

// requireEqual checks that both readers say the same of a whole recording: each event with its frames, threads and numbers, and
// what there is to say of constants.
func requireEqual(t *testing.T, file string) {
	t.Helper()
	list := readers(t)
	own, jmc := recordsOf(t, list["own"], file), recordsOf(t, list["helper"], file)
	require.Equal(t, jmc.summary, own.summary)
	require.Len(t, own.in, len(jmc.in))
	for i := range own.in {
		require.Equal(t, jmc.in[i], own.in[i], "record %d", i)
	}
	assert.NotEmpty(t, own.sums)
	require.Equal(t, jmc.sums, own.sums)
}

// Recordings of async-profiler are read as JMC reads them.
func TestRecordingsOfAsyncProfiler(t *testing.T) {
	library := filepath.Join(testenv.Root(), "build", "profilers", "libasyncProfiler.so")
	if _, err := os.Stat(library); err != nil {
		t.Skipf("async-profiler is not here (%v); run make profilers", err)
	}
	file := filepath.Join(t.TempDir(), "async.jfr")
	options := "=start,event=ctimer,interval=500us,alloc=1k,jfr,file=" + file
	record(t, testenv.Catalogued(t, "jdk25"), 600, "-agentpath:"+library+options)
	requireEqual(t, file)
	events, _ := read(t, file)
	require.NotEmpty(t, events)
}

// MISSTEP_RECORDINGS names recordings that are at hand, by a pattern.
func TestRecordingsAtHand(t *testing.T) {
	files, err := filepath.Glob(os.Getenv("MISSTEP_RECORDINGS"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("MISSTEP_RECORDINGS names no recording")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { requireEqual(t, file) })
	}
}
