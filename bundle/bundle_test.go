package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/corpus"
	"misstep/corpus/memory"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

var update = flag.Bool("update", false, "rewrite testdata")

func frames(names ...string) []*misstepv1.Frame {
	var all []*misstepv1.Frame
	for i, name := range names {
		class, method, _ := strings.Cut(name, "#")
		all = append(all, &misstepv1.Frame{ClassName: class, Method: method, Descriptor_: "()V", Bci: int32(10 * (i + 1))})
	}
	return all
}

// sample is a finding like JDK-8303444 with evidence in a corpus.
func sample(t testing.TB) Contents {
	t.Helper()
	workload, agent := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(workload, "workload.yaml"), "name: clinit\n", 0o644)
	writeFile(t, filepath.Join(workload, "lib", "clinit.jar"), "PK jar", 0o644)
	writeFile(t, filepath.Join(agent, "libmisstep.so"), "ELF", 0o755)
	writeFile(t, filepath.Join(agent, "misstep-agent.jar"), "PK agent", 0o644)
	store := memory.New()
	evidence, size, err := store.Put(context.Background(), strings.NewReader("{}\n"), corpus.Digest{})
	require.NoError(t, err)
	mismatch := &misstepv1.Mismatch{
		Check: "gst-asgct", Kind: "truncated", Thread: "main", Count: 3, Divergence: 0,
		Reference: &misstepv1.Trace{
			Source:    "gst",
			NumFrames: 4,
			Frames:    frames("a.B#work", "a.B#<clinit>", "a.Main#run", "a.Main#main"),
		},
		Suspect: &misstepv1.Trace{Source: "asgct", NumFrames: 2, Frames: frames("a.B#work", "a.B#<clinit>")},
	}
	return Contents{
		Workload: workload, Agent: agent, Evidence: store,
		Reproducer: &misstepv1.Reproducer{
			Finding: &misstepv1.Finding{
				Id: "F0123456789ab", Title: "gst-asgct: the stack is cut off at <clinit> under a.Main.run", KnownAs: "JDK-8303444", Hits: 7,
				Signature: &misstepv1.Signature{
					Kind:    "mismatch",
					Parts:   []string{"gst-asgct", "truncated", "upcall <clinit>"},
					Version: signature.Version,
				},
				Example: &misstepv1.Outcome{
					Kind:       misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
					Mismatches: []*misstepv1.Mismatch{mismatch},
				},
				Rates: []*misstepv1.FindingRate{
					{Jdk: "17", Workload: "clinit", FlagSet: "xcomp", Hits: 7, Trials: 8, Low: 0.53, High: 0.98},
				},
			},
			Recipe: &misstepv1.Recipe{
				Jdk: &misstepv1.Jdk{
					Name:    "17",
					Digest:  corpus.DigestBytes([]byte("17")).String(),
					Version: "OpenJDK 64-Bit Server VM (17.0.15+6)",
				},
				Workload: &misstepv1.Workload{Name: "clinit"}, JvmFlags: []string{"-Xcomp"}, Seed: 42,
				Limits: &misstepv1.Limits{Wall: durationpb.New(time.Minute)},
			},
			OtherJdks: []*misstepv1.Jdk{{Name: "25", Version: "OpenJDK 64-Bit Server VM (25.0.3+9-LTS)"}},
			Evidence:  []*misstepv1.Evidence{{Name: "mismatches.jsonl", Digest: evidence.String(), Size: uint64(size)}},
		},
		Command: Command{
			JVMFlags: []string{
				"-Xmx128m",
				"-Xcomp",
			}, AgentOptions: "seed=42,methods=1,gst-asgct=1", Instruments: true, Wall: time.Minute, MinFeature: 17,
			Invocation: []string{"-Djava.io.tmpdir=" + Scratch, "-cp", Dir + "/workload/lib/clinit.jar", "a.Main", "it's 5"},
		},
	}
}

func writeFile(t testing.TB, name, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), mode))
}

func build(t testing.TB, c Contents) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(context.Background(), &b, c))
	return b.Bytes()
}

func read(data []byte) (*Bundle, error) { return Read(bytes.NewReader(data), int64(len(data))) }

func TestWriteThenOpen(t *testing.T) {
	c := sample(t)
	data := build(t, c)
	assert.Equal(t, data, build(t, c), "the same contents give the same bytes")
	name := filepath.Join(t.TempDir(), "finding.zip")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	b, err := Open(name)
	require.NoError(t, err)
	defer b.Close()
	assert.True(t, proto.Equal(c.Reproducer, b.Reproducer()))
	var paths []string
	for _, f := range b.Files() {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{
		"FORMAT", "README.md", "agent/libmisstep.so", "agent/misstep-agent.jar", "evidence/mismatches.jsonl", "jbs.md", "jtreg/BundleTest.java", "jtreg/TEST.ROOT",
		"recipe.yaml", "reproducer.json", "run.sh", "standalone/TEST.ROOT", "standalone/WalkerTest.java", "standalone/libWalkerTest.cpp", "standalone/run.sh",
		"workload/lib/clinit.jar", "workload/workload.yaml",
	}, paths)
	text, err := b.ReadFile("workload/lib/clinit.jar")
	require.NoError(t, err)
	assert.Equal(t, "PK jar", string(text))
	_, err = b.ReadFile("none")
	require.ErrorIs(t, err, os.ErrNotExist)

	dir := filepath.Join(t.TempDir(), "new", "folder")
	require.NoError(t, b.Extract(dir))
	out, err := exec.Command("bash", "-c", "cd '"+dir+"' && sha256sum --strict -c MANIFEST.sha256").CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Stat(filepath.Join(dir, "run.sh"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode())
	require.ErrorIs(t, b.Extract(dir), os.ErrExist)
}

// TestTexts compares what people read with testdata; -update rewrites it.
func TestTexts(t *testing.T) {
	b, err := read(build(t, sample(t)))
	require.NoError(t, err)
	for _, name := range []string{"README.md", "jbs.md", "run.sh", "jtreg/BundleTest.java"} {
		got, err := b.ReadFile(name)
		require.NoError(t, err)
		golden := filepath.Join("testdata", "golden."+filepath.Base(name))
		if *update {
			require.NoError(t, os.WriteFile(golden, got, 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
	}
}

// The shadow stack lacks the methods that are not instrumented, which a reader would take for a difference.
func TestTextsOfAShadowStack(t *testing.T) {
	c := sample(t)
	c.Reproducer.GetFinding().GetExample().GetMismatches()[0].GetReference().Source = "shadow"
	b, err := read(build(t, c))
	require.NoError(t, err)
	for _, name := range []string{"README.md", "jbs.md"} {
		text, err := b.ReadFile(name)
		require.NoError(t, err)
		assert.Contains(t, string(text), "the marked lines differ. The shadow stack\nhas instrumented methods only", name)
	}
}

// A bug that is known on some of the finding's JDKs only must not pass for known.
func TestTextsOfWhatIsKnownInPart(t *testing.T) {
	c := sample(t)
	f := c.Reproducer.GetFinding()
	f.KnownAs, f.KnownOn = "", []*misstepv1.KnownOn{
		{Jdk: &misstepv1.Jdk{Name: "17"}, KnownAs: "JDK-8302320"},
		{Jdk: &misstepv1.Jdk{Name: "25"}},
	}
	b, err := read(build(t, c))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"README.md": "Known as **JDK-8302320 on 17; not on 25**.", "jbs.md": "**Known as**: JDK-8302320 on 17; not on 25 (compare before filing)",
	} {
		text, err := b.ReadFile(name)
		require.NoError(t, err)
		assert.Contains(t, string(text), want)
	}
	test, err := b.ReadFile("jtreg/BundleTest.java")
	require.NoError(t, err)
	assert.NotContains(t, string(test), "@bug")
}

func TestTheVectorOpens(t *testing.T) {
	// The vector is never rewritten: a change that cannot read it is a new version.
	b, err := Open(filepath.Join("testdata", "v1.zip"))
	require.NoError(t, err)
	defer b.Close()
	assert.Equal(t, "F0123456789ab", b.Reproducer().GetFinding().GetId())
	assert.Equal(t, uint64(42), b.Reproducer().GetRecipe().GetSeed())
	assert.Len(t, b.Files(), 11)

	// And a real one: JDK-8303444 as a hunt of 2026-11-21 wrote it, with an agent without debug symbols, which it still runs with.
	b, err = Open(filepath.Join("testdata", "v1-clinit.zip"))
	require.NoError(t, err)
	defer b.Close()
	assert.Equal(t, "JDK-8303444", b.Reproducer().GetFinding().GetKnownAs())
	assert.Len(t, b.Reproducer().GetFinding().GetExample().GetEvidence(), len(b.Reproducer().GetEvidence()))
	text, err := b.ReadFile("standalone/WalkerTest.java")
	require.NoError(t, err)
	assert.Contains(t, string(text), "@bug 8303444")
}

// TestEachFlippedByteIsNoticed flips every byte of a small bundle in turn.
func TestEachFlippedByteIsNoticed(t *testing.T) {
	data := forge(t, whole()...)
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 0x20
		_, err := read(damaged)
		require.Error(t, err, "byte %d of %d", i, len(data))
	}
}

func TestAFlippedByteNamesTheEntry(t *testing.T) {
	c := sample(t)
	content := "content that is found in the file, as deflate has nothing to save: 9f8e7d6c5b4a"
	writeFile(t, filepath.Join(c.Workload, "data.bin"), content, 0o644)
	data := build(t, c)
	// Entries are compressed, so find the entry's place by the archive's own table.
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	for _, entry := range archive.File {
		if entry.Name != "workload/data.bin" {
			continue
		}
		offset, err := entry.DataOffset()
		require.NoError(t, err)
		data[offset+int64(entry.CompressedSize64)/2] ^= 1
	}
	name := filepath.Join(t.TempDir(), "damaged.zip")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	_, err = Open(name)
	require.ErrorContains(t, err, name)
	require.ErrorContains(t, err, `entry "workload/data.bin": damaged`)
}

func TestCutOffAndForeignFilesAreRefused(t *testing.T) {
	data := build(t, sample(t))
	for _, n := range []int{0, 1, 100, len(data) / 2, len(data) - 1} {
		_, err := read(data[:n])
		require.Error(t, err, "%d bytes", n)
	}
	_, err := read(append(slices.Clone(data), 0))
	require.Error(t, err)
	_, err = read([]byte("just text"))
	require.ErrorContains(t, err, "not a bundle")
	_, err = Open(t.TempDir())
	require.ErrorContains(t, err, "not a file")
	_, err = Open(filepath.Join(t.TempDir(), "gone.zip"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

type entry struct {
	name, text string
	mode       os.FileMode
}

// forge makes a zip that has a right manifest and seal for what it holds.
func forge(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	sealed := &sealWriter{w: &b, hasher: corpus.NewHasher()}
	w := zip.NewWriter(sealed)
	var files []File
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		header.SetMode(0o644 | e.mode)
		out, err := w.CreateHeader(header)
		require.NoError(t, err)
		_, err = io.WriteString(out, e.text)
		require.NoError(t, err)
		files = append(files, File{Path: e.name, Digest: corpus.DigestBytes([]byte(e.text))})
	}
	out, err := w.Create(nameManifest)
	require.NoError(t, err)
	_, err = out.Write(manifestText(files))
	require.NoError(t, err)
	require.NoError(t, w.SetComment(strings.Repeat("0", sealSize)))
	require.NoError(t, w.Close())
	require.NoError(t, sealed.finish())
	return b.Bytes()
}

func whole(more ...entry) []entry {
	var entries []entry
	for _, name := range required {
		text := "x"
		switch name {
		case nameFormat:
			text = formatLine
		case nameReproducer:
			text = `{"finding":{"id":"F1"},"recipe":{"seed":"1"},"fieldOfTheFuture":1}`
		}
		entries = append(entries, entry{name: name, text: text})
	}
	return append(entries, more...)
}

func TestForgedBundles(t *testing.T) {
	_, err := read(forge(t, whole()...))
	require.NoError(t, err, "the smallest bundle, with a field of the future")
	for want, more := range map[string][]entry{
		"climbs":                       {{name: "../evil"}},
		`"workload/../../evil": climb`: {{name: "workload/../../evil"}},
		"absolute":                     {{name: "/etc/passwd"}},
		`forbidden character '\\'`:     {{name: `..\evil`}},
		"twice":                        {{name: "README.md"}},
		"ignores case":                 {{name: "readme.MD"}},
		"only files are allowed":       {{name: "link", text: "/etc/passwd", mode: os.ModeSymlink}},
		"of type d":                    {{name: "folder/", mode: os.ModeDir}},
		"twice, or out of order":       {{name: "README.md/x"}},
		`forbidden character '\n'`:     {{name: "a\n"}},
	} {
		_, err := read(forge(t, whole(more...)...))
		require.ErrorContains(t, err, want)
	}
	for i, name := range required {
		_, err := read(forge(t, slices.Delete(whole(), i, i+1)...))
		require.ErrorContains(t, err, name+" is missing")
	}
	replaced := func(name, text string) []byte {
		entries := whole()
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		entries[i].text = text
		return forge(t, entries...)
	}
	_, err = read(replaced(nameFormat, "misstep-bundle 3\n"))
	require.ErrorContains(t, err, "a newer one is needed")
	_, err = read(replaced(nameReproducer, "{"))
	require.ErrorContains(t, err, "entry reproducer.json")
	_, err = read(replaced(nameReproducer, "{}"))
	require.ErrorContains(t, err, "no finding")
	_, err = read(replaced(nameReproducer, strings.Repeat(" ", maxText+1)))
	require.ErrorIs(t, err, corpus.ErrTooLarge)
}

func TestAnEntryThatTheManifestLacks(t *testing.T) {
	var files []File
	for _, e := range whole() {
		files = append(files, File{Path: e.name, Digest: corpus.DigestBytes([]byte(e.text))})
	}
	text := string(manifestText(files))
	for want, manifest := range map[string]string{
		"is in MANIFEST.sha256 but not": text + corpus.DigestBytes(nil).Hex() + "  more\n",
		`entry "run.sh" is not in`:      strings.Join(strings.SplitAfter(text, "\n")[:len(files)-1], ""),
		"is listed twice":               text + text,
		"two spaces":                    text + "x",
		"lowercase hexadecimal":         text + "xyz  name\n",
	} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, e := range append(whole(), entry{name: nameManifest, text: manifest}) {
			out, err := w.Create(e.name)
			require.NoError(t, err)
			_, err = io.WriteString(out, e.text)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		_, err := read(b.Bytes())
		require.ErrorContains(t, err, want)
	}
}

func TestWriteSaysWhatIsMissing(t *testing.T) {
	for want, change := range map[string]func(*Contents){
		"no finding or no recipe":  func(c *Contents) { c.Reproducer = &misstepv1.Reproducer{} },
		"no such file":             func(c *Contents) { c.Workload = filepath.Join(c.Workload, "gone") },
		"is a symbolic link":       func(c *Contents) { require.NoError(t, os.Symlink("workload.yaml", filepath.Join(c.Workload, "link"))) },
		"blob not found":           func(c *Contents) { c.Evidence = memory.New() },
		"there is no corpus to":    func(c *Contents) { c.Evidence = nil },
		"the name has a folder":    func(c *Contents) { c.Reproducer.Evidence[0].Name = "../x" },
		"has 3 bytes, not 4":       func(c *Contents) { c.Reproducer.Evidence[0].Size = 4 },
		"digest \"sha256:x\"":      func(c *Contents) { c.Reproducer.Evidence[0].Digest = "sha256:x" },
		"needs the agent's":        func(c *Contents) { c.Command.AgentOptions = "" },
		"needs its check and kind": func(c *Contents) { c.Reproducer.Finding.Signature.Parts = nil },
		`finding of kind "odd"`:    func(c *Contents) { c.Reproducer.Finding.Signature.Kind = "odd" },
	} {
		c := sample(t)
		change(&c)
		require.ErrorContains(t, Write(t.Context(), io.Discard, c), want)
	}
}

// The oldest JDK that a workload may need is 8; the standalone test is for 17 and later.
func TestTheJtregTestCompilesOnJDK8(t *testing.T) {
	b, err := read(build(t, sample(t)))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "bundle")
	require.NoError(t, b.Extract(dir))
	out, err := exec.Command(testenv.Javac(t), "--release", "8", "-d", t.TempDir(), filepath.Join(dir, "jtreg", "BundleTest.java")).
		CombinedOutput()
	require.NoError(t, err, string(out))
}

type fullDisk struct{ left int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, fmt.Errorf("no space left")
	}
	return len(p), nil
}

func TestWriteToAFullDisk(t *testing.T) {
	require.ErrorContains(t, Write(t.Context(), &fullDisk{left: 1000}, sample(t)), "no space left")
}

func FuzzRead(f *testing.F) {
	f.Add(build(f, sample(f)))
	f.Add(forge(f, whole()...))
	f.Add(forge(f, whole(entry{name: "../evil"})...))
	random := rand.New(rand.NewPCG(1, 2))
	small := forge(f, whole()...)
	for range 20 {
		damaged := slices.Clone(small)
		damaged[random.IntN(len(damaged))] ^= byte(1 + random.IntN(255))
		f.Add(damaged)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := read(data)
		if err != nil {
			return
		}
		require.NoError(t, b.Close())
		dir := filepath.Join(t.TempDir(), "x")
		require.NoError(t, b.Extract(dir))
		for _, file := range b.Files() {
			assert.True(t, filepath.IsLocal(file.Path))
			assert.FileExists(t, filepath.Join(dir, file.Path))
		}
	})
}

func TestTriesFitTheRate(t *testing.T) {
	for rate, want := range map[float64]int{0: unknownTries, 1: minTries, 0.99: minTries, 0.5: 7, 0.05: 90, 0.0001: maxTries} {
		assert.Equal(t, want, triesFor(rate), "rate %v", rate)
	}
}

func TestAReportQuotesTheCrashLogAndWhatNeverShowedIt(t *testing.T) {
	c := sample(t)
	log := "#\n# A fatal error has been detected\n```\n" + strings.Repeat("x", maxCrashLog)
	digest, size, err := c.Evidence.(*memory.Store).Put(t.Context(), strings.NewReader(log), corpus.Digest{})
	require.NoError(t, err)
	c.Reproducer.Evidence = append(
		c.Reproducer.Evidence,
		&misstepv1.Evidence{Name: "hs_err.log", Digest: digest.String(), Size: uint64(size)},
	)
	c.Reproducer.Finding.Rates = append(c.Reproducer.Finding.Rates,
		&misstepv1.FindingRate{Jdk: "25", Workload: "clinit", FlagSet: "xint", Trials: 12, High: 0.243},
		&misstepv1.FindingRate{Jdk: "25", Workload: "clinit", FlagSet: "rarely tried", Trials: 1, High: 0.8})
	b, err := read(build(t, c))
	require.NoError(t, err)
	text, err := b.ReadFile("jbs.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), "```\n#\n# A fatal error has been detected\n'''\n```\n")
	assert.Contains(
		t,
		string(text),
		"**Workaround**: none known; not seen on 25 with flag set xint and workload clinit (0 of 12 trials, 95 % interval up to 24.3 %).",
	)
	assert.NotContains(t, string(text), "(0 of 1 trials")
}
