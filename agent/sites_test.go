package agent

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sitesFile builds a sites.bin.
type sitesFile []byte

func newSitesFile() sitesFile { return binary.LittleEndian.AppendUint64(nil, sitesMagic) }

func (f sitesFile) record(tag byte, payload ...byte) sitesFile {
	return append(binary.AppendUvarint(append(f, tag), uint64(len(payload))), payload...)
}

// exampleSites is the file that agent/native/test/site_file_test.cpp expects, with a class that was redefined.
func exampleSites() sitesFile {
	f := newSitesFile()
	for _, text := range []string{"A", "java/lang/Object", "B", "go", "()V", "run"} {
		f = f.record(sitesString, []byte(text)...)
	}
	return f.record(sitesClass,
		1, 2, 0, 1, 3, 4, 5, 0, 2, // A extends Object, calls B.go()V, has two methods
		6, 5, 6, 0, 3, 0, 32, 3, 111, 184, 1, 1, 197, 1, 34, // static run()V
		4, 5, 1, 0, // native go()V
	).record(sitesRedefined, 1)
}

func TestSitesOfAClass(t *testing.T) {
	got, err := ParseSites(exampleSites())
	require.NoError(t, err)
	require.Equal(t, Sites{
		Classes: []SiteClass{{
			Name: "A", Super: "java/lang/Object", Targets: []SiteTarget{{Owner: "B", Name: "go", Descriptor: "()V"}},
			Methods: []SiteMethod{
				{
					Name: "run", Descriptor: "()V", Static: true,
					Code: []Site{
						{BCI: 0, Occasions: Compiling, Target: -1},
						{BCI: 3, Occasions: Initialising | Resolving | Linking | Finalising | Compiling, Opcode: 184, Target: 0},
						{BCI: 200, Occasions: Resolving | Compiling, Target: -1},
					},
				},
				{Name: "go", Descriptor: "()V", Native: true},
			},
		}},
		Redefined: []string{"A"},
	}, got)
}

// A few bytes of the file can stand for many of memory: what has no room is left out, and the sites say that classes are missing.
func TestMemoryOfSitesIsBounded(t *testing.T) {
	many := func(record sitesFile) sitesFile {
		return append(newSitesFile(), bytes.Repeat(record, 64<<20/len(record))...)
	}
	methods := append([]byte{0, 0, 0, 0}, binary.AppendUvarint(nil, 60_000)...) // of a class without a name
	methods = append(methods, make([]byte, 60_000*4)...)
	for name, file := range map[string]sitesFile{
		"texts":     many(sitesFile{}.record(sitesString)),
		"classes":   many(sitesFile{}.record(sitesClass, 0, 0, 0, 0, 0)),
		"redefined": many(sitesFile{}.record(sitesRedefined, 0)),
		"methods":   many(sitesFile{}.record(sitesClass, methods...)),
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		got, err := ParseSites(file)
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.NoError(t, err, name)
		assert.True(t, got.Full, name)
		assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(maxSitesMemory), name)
		runtime.KeepAlive(file)
		runtime.KeepAlive(got)
	}
}

func TestSitesThatEndEarly(t *testing.T) {
	whole := exampleSites()
	for cut := 8; cut < len(whole); cut++ {
		got, err := ParseSites(whole[:cut])
		require.NoError(t, err)
		assert.LessOrEqual(t, len(got.Classes), 1)
		assert.Less(t, got.Cut, 50)
	}
	full, err := ParseSites(whole.record(sitesEnd))
	require.NoError(t, err)
	assert.True(t, full.Full)
}

func TestBytesThatAreNoSites(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"another file":    {[]byte("MISSTAP1"), "wrong magic number"},
		"unknown tag":     {newSitesFile().record('?'), "the record at byte 8: the tag '?' is unknown"},
		"unknown string":  {newSitesFile().record(sitesRedefined, 1), "the value 1: expected at most 0"},
		"short record":    {newSitesFile().record(sitesClass, 0, 0), "a value goes beyond the record"},
		"too many":        {newSitesFile().record(sitesClass, 0, 0, 0, 200, 1), "the value 200: expected at most 0"},
		"unknown target":  {newSitesFile().record(sitesClass, 0, 0, 0, 0, 1, 0, 0, 4, 0, 1, 0, 64, 184, 1, 1), "expected at most 0"},
		"beyond any code": {newSitesFile().record(sitesClass, 0, 0, 0, 0, 1, 0, 0, 4, 0, 2, 0xff, 0xff, 3, 2, 1, 2), "65536: expected"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseSites(tt.data)
			require.ErrorIs(t, err, ErrSites)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := ReadSites("/no/such/sites.bin")
	require.ErrorContains(t, err, "/no/such/sites.bin")
}

// Whatever the bytes are, reading ends without panic, and what it returns is consistent.
func FuzzSites(f *testing.F) {
	f.Add([]byte(exampleSites()))
	f.Add([]byte(newSitesFile().record(sitesEnd)))
	f.Fuzz(func(t *testing.T, data []byte) {
		sites, err := ParseSites(data)
		if err != nil {
			return
		}
		for _, c := range sites.Classes {
			for _, m := range c.Methods {
				for _, s := range m.Code {
					assert.Less(t, int(s.Target), len(c.Targets))
				}
			}
		}
	})
}
