package recording

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// constants are a recording's pools and faults.
type constants struct {
	pools  map[string]*Pool
	faults []*Fault
}

func constantsOf(t *testing.T, read reading, file string) constants {
	t.Helper()
	c := constants{pools: map[string]*Pool{}}
	summary, err := read(t.Context(), file, Limits{}, func(r Record) error {
		switch r := r.(type) {
		case *Pool:
			c.pools[r.Type] = r
		case *Fault:
			if r.Type != "jdk.types.ChunkHeader" {
				c.faults = append(c.faults, r)
			}
		case *Problem:
			t.Log(r)
		}
		return nil
	})
	require.NoError(t, err)
	require.Zero(t, summary.Problems, "every value of every event and constant is understood")
	return c
}

// Whole recordings have their constants; on 17 the thread that ends the VM allocates its Thread object before JFR knows it.
func TestConstantsOfWholeRecordings(t *testing.T) {
	for _, name := range []string{"jdk11", "jdk17", "jdk25"} {
		t.Run(name, func(t *testing.T) {
			j := testenv.Catalogued(t, name)
			c := constantsOf(t, Parse, record(t, j, 300, "-XX:TLABSize=2k", "-XX:-ResizeTLAB"))
			for _, pool := range []string{
				"java.lang.Class", "java.lang.Thread", "jdk.types.Method", "jdk.types.Symbol", "jdk.types.StackTrace",
			} {
				require.Contains(t, c.pools, pool)
				assert.Positive(t, c.pools[pool].Referenced)
			}
			for _, f := range c.faults { // JDK-8287699: a thread that ended in time is in no pool of the chunk
				assert.Equal(t, 17, j.Feature, "%+v", f)
				assert.Equal(t, Lacking, f.Kind)
				assert.Equal(t, "java.lang.Thread", f.Type)
				assert.Contains(t, []string{"jdk.ObjectAllocationInNewTLAB", "jdk.ExecutionSample"}, f.From)
			}
		})
	}
}

// An id that is changed in its definition is missed where it is used.
func TestAConstantThatIsTakenAway(t *testing.T) {
	file := record(t, testenv.Catalogued(t, "jdk25"), 300, "-XX:TLABSize=2k", "-XX:-ResizeTLAB")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	// A symbol's definition: its id, then the encoding (3: UTF-8), the length, the text.
	definition := []byte("\x03\x04work")
	at := bytes.Index(data, definition)
	require.Positive(t, at, "the name of a method that allocates")
	data[at-1] ^= 0x20 // the last byte of the id
	broken := filepath.Join(t.TempDir(), "broken.jfr")
	require.NoError(t, os.WriteFile(broken, data, 0o600))
	for _, read := range readers(t) {
		c := constantsOf(t, read, broken)
		require.NotEmpty(t, c.faults)
		for _, f := range c.faults {
			assert.Equal(t, "jdk.types.Symbol", f.Type, "%+v", f)
		}
		assert.Equal(t, Lacking, c.faults[len(c.faults)-1].Kind)
		assert.Equal(t, "jdk.types.Method", c.faults[len(c.faults)-1].From)
	}
}
