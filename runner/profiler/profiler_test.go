package profiler

import (
	"encoding/binary"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

var at = Place{Out: "/o", Work: "/w", Files: "/f", Library: "/l/libasyncProfiler.so"}

func TestProfilerOfARecipe(t *testing.T) {
	for name, want := range map[string]Profiler{"": nil, "none": nil, "jfr": jfr{}, "async-profiler": asyncProfiler{}} {
		p, err := Of(&misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: name}})
		require.NoError(t, err)
		assert.Equal(t, want, p, name)
	}
	_, err := Of(&misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: "honest"}})
	require.ErrorContains(t, err, `profiler.name: unknown profiler "honest"`)
}

// What recipes may name can be started.
func TestEveryProfilerOfRecipes(t *testing.T) {
	var names []string
	for _, p := range recipe.Profilers() {
		names = append(names, p.Name)
	}
	for i, p := range All() {
		assert.Equal(t, names[i], p.Name())
	}
	assert.Len(t, All(), len(names))
}

func TestSettingsOfARecipe(t *testing.T) {
	r := &misstepv1.Recipe{
		Profiler: &misstepv1.Profiler{Options: []string{"a=b"}},
		Limits:   &misstepv1.Limits{StackDepth: 77, DiskMib: 100},
	}
	assert.Equal(t, Settings{Interval: 10 * time.Millisecond, Options: []string{"a=b"}, Depth: 77, Bytes: 25 << 20}, SettingsOf(r))
	r.Profiler.Interval = durationpb.New(time.Millisecond)
	assert.Equal(t, time.Millisecond, SettingsOf(r).Interval)
}

func TestArguments(t *testing.T) {
	s := Settings{Interval: 1500 * time.Microsecond, Depth: 4096, Bytes: 1 << 20}
	for _, c := range []struct {
		p       Profiler
		options []string
		want    []string
	}{
		{jfr{}, nil, []string{
			"-XX:FlightRecorderOptions=repository=/o/repository,stackdepth=2048",
			"-XX:StartFlightRecording=dumponexit=true,filename=/o/recording.jfr,maxsize=1048576,name=misstep,settings=/f/settings.jfc",
		}},
		{jfr{}, []string{"maxchunksize=1M", "stackdepth=10", "jdk.ThreadPark#enabled=false"}, []string{
			"-XX:FlightRecorderOptions=maxchunksize=1M,repository=/o/repository,stackdepth=10",
			"-XX:StartFlightRecording=dumponexit=true,filename=/o/recording.jfr,maxsize=1048576,name=misstep,settings=/f/settings.jfc",
		}},
		{asyncProfiler{}, nil, []string{
			"-agentpath:/l/libasyncProfiler.so=start,jfr,chunktime=5s,cstack=vm,event=ctimer,file=/o/async-profiler.jfr,interval=1500us," +
				"jstackdepth=4096,log=/o/async-profiler.log,quiet,signal=27/26",
		}},
		{asyncProfiler{}, []string{"event=itimer", "cstack=vmx", "threads"}, []string{
			"-agentpath:/l/libasyncProfiler.so=start,jfr,chunktime=5s,cstack=vmx,event=itimer,file=/o/async-profiler.jfr," +
				"interval=1500us,jstackdepth=4096,log=/o/async-profiler.log,quiet,signal=27/26,threads",
		}},
	} {
		s.Options = c.options
		got, err := c.p.Arguments(s, at)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

// What would take the recording from where it is looked for, or end the recorder early, comes to no JVM.
func TestOptionsThatCannotBePassedOn(t *testing.T) {
	for _, c := range []struct{ name, option, want string }{
		{"jfr", "jdk.ThreadPark#enabled", "expected a setting of an event"},
		{"jfr", "repository=/tmp", "repository may not be given: the trial says where"},
		{"jfr", "filename=/tmp/x", "filename may not be given: the trial says where"},
		{"jfr", "#enabled=true", "expected a setting"},
		{"jfr", "maxchunksize=1M,repository=/tmp", "without a comma"},
		{"async-profiler", "file=/tmp/x", "file may not be given: the trial says where"},
		{"async-profiler", "collapsed", "collapsed may not be given"},
		{"async-profiler", "event=", "event= has no value"},
		{"async-profiler", "event=cpu,file=/tmp/x", "without a comma"},
	} {
		_, err := Of(&misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: c.name, Options: []string{c.option}}})
		require.ErrorContains(t, err, c.want, c.option)
	}
	for _, p := range All() {
		_, err := p.Arguments(Settings{}, Place{Out: "/a,b"})
		require.ErrorContains(t, err, "has a comma", p.Name())
	}
}

func TestConfiguration(t *testing.T) {
	s := Settings{Interval: 500 * time.Microsecond, Options: []string{
		"jdk.MethodTrace#filter=a.B::c<init>&", "jdk.ExecutionSample#period=20 ms", "jdk.FileRead#threshold=0 ms", "jdk.ThreadPark#enabled=false",
	}}
	files, err := jfr{}.Files(s)
	require.NoError(t, err)
	var read xmlConfiguration
	require.NoError(t, xml.Unmarshal(files[fileSettings], &read))
	settings := map[string]string{}
	for _, e := range read.Events {
		for _, one := range e.Settings {
			settings[e.Name+"#"+one.Name] = one.Value
		}
	}
	for setting, want := range map[string]string{
		"jdk.ExecutionSample#period":    "20 ms",
		"jdk.NativeMethodSample#period": "1 ms", // the least of both samplers
		"jdk.CPUTimeSample#throttle":    "500 us",
		"jdk.MethodTrace#filter":        "a.B::c<init>&",
		"jdk.MethodTrace#enabled":       "false",
		"jdk.FileRead#enabled":          "true",
		"jdk.ThreadPark#enabled":        "false",
		"jdk.ThreadPark#stackTrace":     "true",
	} {
		assert.Equal(t, want, settings[setting], setting)
	}
	again, err := jfr{}.Files(s)
	require.NoError(t, err)
	assert.Equal(t, files, again, "the same settings give the same bytes")
}

func TestJDKsWithoutJFR(t *testing.T) {
	home := t.TempDir()
	require.ErrorContains(t, jfr{}.Supports(JDK{Home: home, Feature: 17}), "has no JFR (no lib/jfr/default.jfc)")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "jre", "lib", "jfr"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, "jre", "lib", "jfr", "default.jfc"), nil, 0o600))
	require.NoError(t, jfr{}.Supports(JDK{Home: home, Feature: 8}))
	require.ErrorContains(t, jfr{}.Supports(JDK{Home: home, Feature: 10}), "JDK 10 has no open JFR")
	require.NoError(t, asyncProfiler{}.Supports(JDK{Home: home, Feature: 8}))
}

// chunk writes a file with the header of a chunk and some bytes.
func chunk(t *testing.T, path string, start uint64, size int) {
	t.Helper()
	data := make([]byte, size)
	copy(data, headerMagic)
	binary.BigEndian.PutUint64(data[headerStart:], start)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func TestRecordingsOfEachEnd(t *testing.T) {
	place := Place{Out: t.TempDir(), Work: t.TempDir()}
	look := func() (names []string) {
		files, err := Recordings(jfr{}, place)
		require.NoError(t, err)
		for _, f := range files {
			names = append(names, filepath.Base(f))
		}
		return names
	}
	require.Empty(t, look())

	repository := filepath.Join(place.Out, dirRepository, "2026_1_2")
	// Killed: chunks in the order of their times, not of their names; what is no chunk is left out.
	chunk(t, filepath.Join(repository, "b.jfr"), 10, 100)
	chunk(t, filepath.Join(repository, "a.jfr"), 20, 100)
	require.NoError(t, os.WriteFile(filepath.Join(repository, "c.jfr"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(repository, "d.jfr"), make([]byte, 1000), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(repository, "b.jfr"), filepath.Join(repository, "e.jfr")))
	outside := filepath.Join(t.TempDir(), "f.jfr")
	chunk(t, outside, 5, 100)
	require.NoError(t, os.Symlink(outside, filepath.Join(repository, "f.jfr")))
	require.Equal(t, []string{"b.jfr", "a.jfr"}, look())
	joined := filepath.Join(t.TempDir(), "joined.jfr")
	files, err := Recordings(jfr{}, place)
	require.NoError(t, err)
	require.ErrorIs(t, Join(files, joined, 199), ErrTooLarge)
	require.NoFileExists(t, joined)
	require.NoError(t, Join(files, joined, 200))
	data, err := os.ReadFile(joined)
	require.NoError(t, err)
	require.Len(t, data, 200)
	require.Equal(t, byte(10), data[headerStart+7])
	require.Error(t, Join(files, joined, 200), "it exists")
	require.FileExists(t, joined)

	// Killed while it made its dump, which is shorter than what it was made of.
	chunk(t, filepath.Join(place.Out, fileDump), 10, 150)
	require.Equal(t, []string{"b.jfr", "a.jfr"}, look())
	// Crashed: all chunks in one file.
	chunk(t, filepath.Join(place.Work, "hs_err_pid12.jfr"), 10, 201)
	require.Equal(t, []string{"hs_err_pid12.jfr"}, look())
	// Killed while it removed its repository after the dump.
	chunk(t, filepath.Join(place.Out, fileDump), 10, 202)
	require.Equal(t, []string{fileDump}, look())
}

func TestReasonsOfAJVMThatDoesNotStart(t *testing.T) {
	place := Place{Out: t.TempDir()}
	assert.Empty(t, jfr{}.Refusal(place, []byte("Exception in thread main")))
	assert.Equal(t, "[0.080s][error][arguments] Integer parsing error in command argument 'stackdepth'. Could not parse: banana.",
		jfr{}.Refusal(place, []byte("[0.080s][error][arguments] Integer parsing error in command argument 'stackdepth'. "+
			"Could not parse: banana.\n\nError occurred during initialization of VM\nFailure when starting JFR on_create_vm_2\n")))
	assert.Empty(t, asyncProfiler{}.Refusal(place, nil), "no log")
	log := filepath.Join(place.Out, fileAsyncLog)
	require.NoError(t, os.WriteFile(log, []byte("[ERROR] Unsupported event type\nmore"), 0o600))
	assert.Equal(t, "[ERROR] Unsupported event type", asyncProfiler{}.Refusal(place, nil))
}

// Whatever options a recipe may give, the recording is written where it is looked for.
func FuzzPlaces(f *testing.F) {
	for _, o := range []string{
		"maxchunksize=1M", "jdk.A#b=,filename=/x", "cstack=vm", "file=/x", "FILE=/x", "event=cpu,file=/x", "a\nfile=/x",
	} {
		f.Add(o)
	}
	f.Fuzz(func(t *testing.T, option string) {
		for _, name := range []string{"jfr", "async-profiler"} {
			r := &misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: name, Options: []string{option}}}
			p, err := Of(r)
			if err != nil {
				continue
			}
			arguments, err := p.Arguments(SettingsOf(r), at)
			require.NoError(t, err)
			text := strings.Join(arguments, ",")
			for key, want := range map[string]string{
				"repository=": "/o/repository", "filename=": "/o/recording.jfr", "settings=": "/f/settings.jfc",
				"file=": "/o/async-profiler.jfr", "log=": "/o/async-profiler.log",
			} {
				for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
					if value, found := strings.CutPrefix(word, key); found {
						require.Equal(t, want, value, text)
					}
				}
			}
		}
	})
}
