package jfrcheck_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/jfrcheck"
	"misstep/runner/recording"
)

func file(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func differ(t *testing.T, a, b string) (*jfrcheck.Difference, error) {
	t.Helper()
	return jfrcheck.Diff(t.Context(), recording.Parse, jfrcheck.DiffOptions{A: a, B: b, MaxBytes: 1 << 30, Level: 0.05, Top: 10})
}

// pprofOf is a profile of pprof with stacks, outermost method first, and their samples.
func pprofOf(t *testing.T, stacks map[string]int64) []byte {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "samples", Unit: "count"}}}
	functions := map[string]*profile.Location{}
	for stack, n := range stacks {
		s := &profile.Sample{Value: []int64{n * 10_000_000, n}}
		for name := range strings.SplitSeq(stack, ";") {
			if functions[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
				l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: 7}}}
				p.Function, p.Location, functions[name] = append(p.Function, f), append(p.Location, l), l
			}
			s.Location = append([]*profile.Location{functions[name]}, s.Location...)
		}
		p.Sample = append(p.Sample, s)
	}
	var out bytes.Buffer
	require.NoError(t, p.Write(&out))
	return out.Bytes()
}

// The same samples are the same profile in each form, however their frames are written.
func TestFormsAreEqual(t *testing.T) {
	text := file(t, "a.collapsed", []byte("[main tid=7];a/B.main_[i];a/B.work:12_[j] 600\n"+
		"a/B.main;java/lang/String.indexOf_[1] 400\n\n"))
	dots := file(t, "b.txt", []byte("a.B.main;a.B::work 600\r\na.B.main(String[]);java.lang.String.indexOf(int, int) 400"))
	packed := file(t, "c.pb.gz", pprofOf(t, map[string]int64{"a.B.main;a.B.work": 600, "a.B.main;java.lang.String.indexOf": 400}))
	wide := []byte{0xff, 0xfe}
	for _, r := range "a.B.main;a.B.work 600\r\na.B.main;java.lang.String.indexOf 400\r\n" {
		wide = append(wide, byte(r), 0) // as PowerShell writes
	}
	for _, other := range []string{dots, packed, file(t, "d.txt", wide)} {
		d, err := differ(t, text, other)
		require.NoError(t, err)
		assert.True(t, d.Equal(), "%+v", d.Changes)
		assert.EqualValues(t, 1000, d.A.Compared)
		assert.EqualValues(t, 1000, d.B.Compared)
		assert.Equal(t, 2, strings.Count(strings.Join(d.Notes, " "), "has no times"))
	}
	less := file(t, "d.txt", []byte("a.B.main;a.B.work 450\na.B.main;java.lang.String.indexOf 550"))
	d, err := differ(t, packed, less)
	require.NoError(t, err)
	require.NotEmpty(t, d.Changes)
	assert.InDelta(t, -0.15, sharesOf(d)["self a.B.work"], 1e-9)
}

func sharesOf(d *jfrcheck.Difference) map[string]float64 {
	out := map[string]float64{}
	for _, c := range d.Changes {
		out[c.Kind+" "+c.Method] = c.B - c.A
	}
	return out
}

// A pprof of time alone is counted by its period; a stack of too many frames is truncated.
func TestPprofByPeriod(t *testing.T) {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10,
		Function: []*profile.Function{{ID: 1, Name: "a.B.f"}},
	}
	p.Location = []*profile.Location{{ID: 1, Line: []profile.Line{{Function: p.Function[0]}}}, {ID: 2, Address: 16}}
	deep := &profile.Sample{Value: []int64{50}}
	for range 1<<14 + 1 {
		deep.Location = append(deep.Location, p.Location[0])
	}
	p.Sample = []*profile.Sample{{Value: []int64{70}, Location: p.Location}, deep}
	var out bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&out))
	path := file(t, "p.pb", out.Bytes())
	d, err := differ(t, path, path)
	require.NoError(t, err)
	assert.EqualValues(t, 7, d.A.Compared)
	assert.EqualValues(t, 5, d.A.Truncated)
	p.PeriodType = nil
	out.Reset()
	require.NoError(t, p.Write(&out))
	_, err = differ(t, file(t, "q.pb", out.Bytes()), path)
	require.ErrorContains(t, err, "no sample type that counts")
}

// What is neither form gets an error that names the place, and what is too large one that says so.
func TestForeignErrors(t *testing.T) {
	bomb := func(size int) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		for range size >> 20 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	good := file(t, "good", []byte("a;b 3\n"))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"source":     {[]byte("a;b 3\npublic class Work {\n"), "line 2: expected frames"},
		"negative":   {[]byte("a;b -3\n"), "line 1: expected frames"},
		"huge":       {[]byte("a;b 99999999999999999999\n"), "line 1: expected frames"},
		"binary":     {[]byte("\x00\x01\x02\x03 12"), "neither a JFR recording, nor a profile of pprof"},
		"a bomb":     {bomb(80 << 20), "more than 64 MiB, unpacked"},
		"long line":  {[]byte("a;b 3\n" + strings.Repeat("f;", 10_000_000) + "f 1\n"), "line 2 has more than 4 MiB"},
		"no samples": {[]byte("\n\n"), "no samples with a stack trace"},
		"zip":        {[]byte("PK\x03\x04 and so on"), "unpack it with `unzip`"},
	} {
		_, err := differ(t, good, file(t, "bad", c.data))
		require.ErrorContains(t, err, c.want, name)
	}
	long := file(t, "long", []byte("a;"+strings.Repeat("f", 1<<20)+" 9\n"))
	named, err := differ(t, good, long)
	require.NoError(t, err)
	for _, c := range named.Changes {
		assert.LessOrEqual(t, len(c.Method), 2048)
	}
	deep := file(t, "deep", []byte(strings.Repeat("f;", 20_000)+"f 1\na;b 5\n"))
	d, err := differ(t, good, deep)
	require.NoError(t, err)
	assert.EqualValues(t, 1, d.B.Truncated)
}

func FuzzForeign(f *testing.F) {
	f.Add([]byte("a/B.f;c 3\n"))
	f.Add([]byte("\x0a\x04\x08\x01\x10\x02"))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		o := jfrcheck.DiffOptions{A: path, B: path, MaxBytes: 1 << 20, Level: 0.05, Top: 3}
		d, err := jfrcheck.Diff(t.Context(), recording.Parse, o)
		if err == nil {
			require.True(t, d.Equal(), fmt.Sprint(d.Changes))
		}
	})
}
