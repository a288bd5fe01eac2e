package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"misstep/bundle/standalone"
	"misstep/corpus"
	"misstep/corpus/tree"
	misstepv1 "misstep/proto/misstep/v1"
)

// epoch is the time of each entry, the earliest that the zip format can express, so that the bytes depend on the contents only.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// opener opens a file's bytes.
type opener func() (io.ReadCloser, error)

// Write writes a bundle. The same contents give the same bytes with the same build of Misstep (another version of the compression
// library may compress differently; the unpacked files are the same).
func Write(ctx context.Context, w io.Writer, c Contents) error {
	if err := write(ctx, w, c); err != nil {
		return fmt.Errorf("write bundle of finding %s: %w", c.Reproducer.GetFinding().GetId(), err)
	}
	return nil
}

func write(ctx context.Context, w io.Writer, c Contents) error {
	if c.Reproducer.GetFinding() == nil || c.Reproducer.GetRecipe() == nil {
		return errNoReproducer
	}
	files, openers, err := gather(ctx, &c)
	if err != nil {
		return err
	}
	sealed := &sealWriter{w: w, hasher: corpus.NewHasher()}
	archive := zip.NewWriter(sealed)
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writeEntry(ctx, archive, f, zip.Deflate, openers[f.Path]); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	// The manifest is not compressed, so that it is readable in a hex dump of a damaged bundle.
	if err := writeEntry(ctx, archive, File{Path: nameManifest}, zip.Store, ofBytes(manifestText(files))); err != nil {
		return err
	}
	if err := archive.SetComment(strings.Repeat("0", sealSize)); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return sealed.finish()
}

func writeEntry(ctx context.Context, archive *zip.Writer, f File, method uint16, open opener) error {
	header := &zip.FileHeader{Name: f.Path, Method: method, Modified: epoch}
	header.SetMode(modeOf(f))
	entry, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	content, err := open()
	if err != nil {
		return err
	}
	defer content.Close()
	_, _, err = corpus.Receive(ctx, entry, content, f.Digest, MaxBytes)
	return err
}

// gather lists all files in order, with openers of their bytes.
func gather(ctx context.Context, c *Contents) ([]File, map[string]opener, error) {
	g := &gatherer{openers: map[string]opener{}}
	for _, folder := range []struct{ name, dir string }{{dirWorkload, c.Workload}, {dirAgent, c.Agent}, {dirProfiler, c.Profiler}} {
		if folder.dir == "" && folder.name == dirProfiler {
			continue
		}
		if err := g.folder(folder.name, folder.dir); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range c.Reproducer.GetEvidence() {
		if err := g.evidence(ctx, c.Evidence, e); err != nil {
			return nil, nil, fmt.Errorf("evidence %q: %w", e.GetName(), err)
		}
	}
	if err := g.recording(c); err != nil {
		return nil, nil, err
	}
	if err := g.share(ctx, c); err != nil {
		return nil, nil, err
	}
	if c.Expect.Kind == "" {
		c.Expect = ExpectOf(c.Reproducer.GetFinding())
	}
	if err := g.texts(c); err != nil {
		return nil, nil, err
	}
	sortFiles(g.files)
	return g.files, g.openers, checkFiles(g.files)
}

type gatherer struct {
	files   []File
	shared  []File // of the workload, beside the bundle
	openers map[string]opener
}

func (g *gatherer) folder(name, dir string) error {
	m, err := tree.Scan(dir)
	if err != nil {
		return err
	}
	for e := range m.Entries() {
		switch e.Kind {
		case tree.KindDir:
		case tree.KindLink:
			return fmt.Errorf("%s: %s is a symbolic link, which a bundle cannot hold", dir, e.Path)
		default:
			file := File{Path: path.Join(name, e.Path), Size: e.Size, Digest: e.Digest, Executable: e.Kind == tree.KindExecutable}
			g.add(file, func() (io.ReadCloser, error) { return os.Open(filepath.Join(dir, filepath.FromSlash(e.Path))) })
		}
	}
	return nil
}

func (g *gatherer) evidence(ctx context.Context, source corpus.Source, e *misstepv1.Evidence) error {
	if strings.Contains(e.GetName(), "/") {
		return errors.New("the name has a folder in it, evidence has plain file names")
	}
	digest, err := corpus.ParseDigest(e.GetDigest())
	if err != nil {
		return err
	}
	if source == nil {
		return errors.New("there is no corpus to read it from")
	}
	file := File{Path: path.Join(dirEvidence, e.GetName()), Size: int64(e.GetSize()), Digest: digest} // checkFiles bounds it
	g.add(file, func() (io.ReadCloser, error) {
		content, size, err := source.Open(ctx, digest)
		if err == nil && size != file.Size {
			return nil, errors.Join(fmt.Errorf("has %d bytes, not %d as in the reproducer", size, file.Size), content.Close())
		}
		return content, err
	})
	return nil
}

func (g *gatherer) texts(c *Contents) error {
	reproducer, err := misstepv1.Canonical(c.Reproducer)
	if err != nil {
		return err
	}
	recipe, err := misstepv1.CanonicalRecipe(c.Reproducer.GetRecipe())
	if err != nil {
		return err
	}
	script, err := script(c, g.shared)
	if err != nil {
		return err
	}
	if !c.Expect.Recorded() { // else run.sh judges nothing
		jtreg, err := jtregTest(c)
		if err != nil {
			return err
		}
		g.text(path.Join(dirJtreg, "TEST.ROOT"), []byte("# The root of a jtreg test suite: jtreg -jdk:JDK jtreg\n"), false)
		g.text(path.Join(dirJtreg, "BundleTest.java"), jtreg, false)
	}
	alone, err := standalone.Generate(c.Reproducer.GetFinding(), c.Command.JVMFlags)
	var unserved *standalone.UnservedError
	if err != nil && !errors.As(err, &unserved) {
		return err
	}
	for _, f := range alone {
		g.text(path.Join(dirStandalone, f.Name), f.Text, f.Executable)
	}
	data := newReport(c, g.shared, unserved, g.crashLog(c.Reproducer.GetEvidence()))
	readme, err := data.text(readmeTemplate)
	if err != nil {
		return err
	}
	draft, err := data.text(jbsTemplate)
	if err != nil {
		return err
	}
	g.text(nameFormat, []byte(formatOf(g.shared)), false)
	g.text(nameReproducer, reproducer, false)
	g.text(nameRecipe, recipe, false)
	g.text(nameReadme, readme, false)
	g.text(Report, draft, false)
	g.text(nameScript, script, true)
	if len(c.Command.Only) > 0 {
		g.text(nameOnly, []byte(strings.Join(c.Command.Only, "\n")+"\n"), false)
	}
	if c.planned() {
		g.text(namePlan, c.Command.Plan, false)
	}
	return nil
}

// crashLog returns the head of the hs_err file among the evidence, which a report quotes. It is nil when there is none or it cannot
// be read (writing that entry then fails with the reason).
func (g *gatherer) crashLog(evidence []*misstepv1.Evidence) []byte {
	for _, e := range evidence {
		if !strings.HasPrefix(e.GetName(), "hs_err") {
			continue
		}
		content, err := g.openers[path.Join(dirEvidence, e.GetName())]()
		if err != nil {
			return nil
		}
		defer content.Close()
		head, err := io.ReadAll(io.LimitReader(content, maxCrashLog))
		if err != nil {
			return nil
		}
		return head[:bytes.LastIndexByte(head, '\n')+1]
	}
	return nil
}

func (g *gatherer) text(name string, data []byte, executable bool) {
	g.add(File{Path: name, Size: int64(len(data)), Digest: corpus.DigestBytes(data), Executable: executable}, ofBytes(data))
}

func (g *gatherer) add(f File, open opener) {
	g.files = append(g.files, f)
	g.openers[f.Path] = open
}

func ofBytes(data []byte) opener {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// sealSize is the length of the zip's comment in bytes: "sha256:" and 64 digits.
const sealSize = 7 + 64

// sealWriter passes bytes on and replaces the last sealSize of them, which are the zip's comment, by the digest of the others. It
// covers the parts of a zip that no entry's digest covers.
type sealWriter struct {
	w      io.Writer
	hasher *corpus.Hasher
	tail   []byte
}

func (s *sealWriter) Write(p []byte) (int, error) {
	s.tail = append(s.tail, p...)
	if n := len(s.tail) - sealSize; n > 0 {
		_, _ = s.hasher.Write(s.tail[:n])
		if _, err := s.w.Write(s.tail[:n]); err != nil {
			return 0, err
		}
		s.tail = append(s.tail[:0], s.tail[n:]...)
	}
	return len(p), nil
}

func (s *sealWriter) finish() error {
	_, err := io.WriteString(s.w, s.hasher.Digest().String())
	return err
}
