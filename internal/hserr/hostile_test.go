package hserr_test

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/internal/hserr"
)

// endless repeats a string for ever.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[e.at]
		e.at = (e.at + 1) % len(e.text)
	}
	return len(p), nil
}

// A JVM, or the program in it, may write anything there: what is read costs bounded time and memory, and what comes of it is short.
func TestTheWorstFiles(t *testing.T) {
	const head = "# A fatal error has been detected by the Java Runtime Environment:\n#\n"
	for name, text := range map[string]string{
		"a line without end":     "#  SIGSEGV (0xb) " + strings.Repeat("[", 4096),
		"lines of the head":      "#  " + strings.Repeat("pid=1,tid=0x1 ", 280) + "\n",
		"empty lines":            "\n",
		"frames":                 "Native frames:\nC  " + strings.Repeat("x", 4000) + "\nJava frames:\nj  a\n",
		"stacks again and again": "Native frames:\nJava frames:\n",
		"threads":                "Current thread (0x0):  " + strings.Repeat("[_thread_x, id=9] ", 220) + "\n",
		"NUL":                    "#  \x00\n\x00",
		"no UTF-8":               "#  SIGSEGV \xff\xfe\xc0\x80\n",
		"carriage returns":       "\r",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		report, err := hserr.Parse(io.MultiReader(strings.NewReader(head), &endless{text: text}))
		runtime.ReadMemStats(&after)
		require.NoError(t, err, name)
		assert.Less(t, proto.Size(report.Crash), 768<<10, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), name)
		assert.Less(t, time.Since(began), 30*time.Second, name)
		t.Logf("%s: %v, %d MiB in all, %d bytes", name, time.Since(began).Round(time.Millisecond),
			(after.TotalAlloc-before.TotalAlloc)>>20, proto.Size(report.Crash))
	}
}
