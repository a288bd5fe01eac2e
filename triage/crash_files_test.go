package triage_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/hserr"
	"misstep/signature"
	"misstep/triage"
)

// realFiles returns the error files of the JVMs of 8 to 28 that package hserr is tested with, by name.
func realFiles(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../internal/hserr/testdata/*.log")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		files[filepath.Base(name)] = data
	}
	return files
}

var (
	hexRE     = regexp.MustCompile(`\b(0x)([0-9a-f]{8,16})\b`)
	idRE      = regexp.MustCompile(`\b(pid=|tid=|id=)(\d+)`)
	nameRE    = regexp.MustCompile(`(JavaThread ")(main|pool-\d+-thread-\d+)(")`)
	libraryRE = regexp.MustCompile(`(\[lib(?:crash|planted|demo)\w*?)(\.so)`)
)

// What every run changes: addresses, numbers of processes and threads, names of application threads and unpacked libraries.
func TestRunsDoNotChangeIDs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, data := range realFiles(t) {
		before := signOf(t, string(data))
		for range 5 {
			changed := hexRE.ReplaceAllFunc(data, func(hex []byte) []byte { // of the same length, as sections are recognised by it
				out := []byte("0x")
				for range len(hex) - 2 {
					out = strconv.AppendInt(out, int64(1+random.IntN(9)), 10)
				}
				return out
			})
			changed = idRE.ReplaceAll(changed, []byte("${1}"+strconv.Itoa(1+random.IntN(1<<22))))
			changed = nameRE.ReplaceAll(changed, []byte("${1}VM Thread-"+strconv.Itoa(random.IntN(99))+"${3}"))
			changed = libraryRE.ReplaceAll(changed, []byte("${1}"+strconv.FormatUint(random.Uint64()|1<<60, 10)+"${2}"))
			assert.Equal(t, before, signOf(t, string(changed)), name)
		}
	}
}

// Wherever a file ends, its crash joins that of the whole file, or stays by itself; it never joins another one.
func TestCutFilesJoinTheirOwn(t *testing.T) {
	files := realFiles(t)
	whole := map[string]triage.Hit{}
	for name, data := range files {
		report, err := hserr.Parse(bytes.NewReader(data))
		require.NoError(t, err)
		stored, _ := triage.Crash(report.Crash)
		whole[name] = triage.Hit{ID: signature.ID(stored), Signature: stored}
	}
	total, own := 0, 0
	for name, data := range files {
		for n := 300; n < len(data); n += 97 {
			report, err := hserr.Parse(bytes.NewReader(data[:n]))
			require.NoError(t, err)
			stored, _ := triage.Crash(report.Crash)
			cut := triage.Hit{ID: signature.ID(stored), Signature: stored}
			id := cut.ID
			if joined, ok := triage.Join([]triage.Hit{cut, whole[name]}, nil)[cut.ID]; ok {
				id = joined
			}
			c, err := signature.Read(stored)
			require.NoError(t, err)
			crash := c.(signature.Crash)
			known := crash.Frame != signature.UnknownFrame // otherwise little but the signal is
			if known {
				total++
			}
			if id == whole[name].ID {
				if known {
					own++
				}
				continue
			}
			assert.Truef(t, crash.Partial(), "%s cut at %d of %d says something else: %q, not %q", name, n, len(data),
				stored.GetParts(), whole[name].Signature.GetParts())
		}
	}
	t.Logf("%d of %d cut files join the whole one", own, total)
	assert.Greater(t, own*100, total*95)
}

// Among all whole files a cut one joins its own, or none.
func TestCutFilesJoinNoOther(t *testing.T) {
	files := realFiles(t)
	hits, id := []triage.Hit{}, map[string]string{}
	sign := func(data []byte) triage.Hit {
		report, err := hserr.Parse(bytes.NewReader(data))
		require.NoError(t, err)
		stored, _ := triage.Crash(report.Crash)
		return triage.Hit{ID: signature.ID(stored), Signature: stored}
	}
	for name, data := range files {
		hit := sign(data)
		hits, id[name] = append(hits, hit), hit.ID
	}
	random := rand.New(rand.NewPCG(3, 4))
	for name, data := range files {
		for range 20 {
			cut := sign(data[:200+random.IntN(len(data)-200)])
			if joined, ok := triage.Join(append(hits, cut), nil)[cut.ID]; ok {
				assert.Equal(t, id[name], joined, "%s: %q", name, cut.Signature.GetParts())
			}
		}
	}
}
