package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

// Shared files are large files of a workload that many bundles have in common: such a bundle lists them by digest, and they lie
// beside it.
const (
	// SharedDir is the folder beside a bundle that holds its shared files, in the layout of corpus/localdir.
	SharedDir = "shared"
	// ShareFrom is the size in bytes from which a workload's file is shared.
	ShareFrom = 4 << 20

	nameShared = "SHARED"
	maxShared  = 16

	sourcePrefix = "source "
	maxSource    = 1 << 10 // bytes
)

// MissingError says which shared files of a bundle could not be found.
type MissingError struct {
	Files []File
	// Workload that they belong to: its name and, where it is known, its source.
	Workload string
}

// Error names the first of them, the workload and the remedies.
func (m *MissingError) Error() string {
	f := m.Files[0]
	more := ""
	if n := len(m.Files) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("%s (%d bytes, %s)%s of workload %s lies beside the bundle, not in it, and is not there: "+
		"copy the folder %q that was written with the bundle next to it, add that very workload with `misstep workload add`, "+
		"or have the bundle written with --embed", f.Path, f.Size, f.Digest, more, m.Workload, SharedDir)
}

// Unwrap returns corpus.ErrNotFound.
func (*MissingError) Unwrap() error { return corpus.ErrNotFound }

// share moves the large files of the workload from the bundle to c.Shared.
func (g *gatherer) share(ctx context.Context, c *Contents) error {
	if c.Shared == nil {
		return nil
	}
	var kept []File
	for _, f := range g.files {
		if !strings.HasPrefix(f.Path, dirWorkload+"/") || f.Size < ShareFrom || f.Executable || len(g.shared) == maxShared {
			kept = append(kept, f)
			continue
		}
		if err := putShared(ctx, c.Shared, f, g.openers[f.Path]); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		g.shared = append(g.shared, f)
		delete(g.openers, f.Path)
	}
	g.files = kept
	if len(g.shared) > 0 {
		sortFiles(g.shared)
		g.text(nameShared, sharedText(g.shared, sourceText(c)), false)
	}
	return nil
}

func putShared(ctx context.Context, to corpus.Store, f File, open opener) error {
	missing, err := to.Missing(ctx, []corpus.Digest{f.Digest})
	if err != nil || len(missing) == 0 {
		return err
	}
	content, err := open()
	if err != nil {
		return err
	}
	_, _, err = to.Put(ctx, content, f.Digest)
	return errors.Join(err, content.Close())
}

// sourceText is where the workload came from, for people: a URL, or the last part of a path, which names no folder of the writer's
// machine. It is empty where that says no more than the workload's name.
func sourceText(c *Contents) string {
	source := c.WorkloadSource
	if !strings.Contains(source, "://") {
		source = filepath.Base(source)
	}
	source = oneLine(source)
	if source == "." || source == c.Reproducer.GetRecipe().GetWorkload().GetName() || len(source) > maxSource {
		return ""
	}
	return source
}

// workloadText names a workload, and its source where there is one.
func workloadText(r *misstepv1.Reproducer, source string) string {
	text := oneLine(r.GetRecipe().GetWorkload().GetName())
	if source != "" {
		text += ", which was added from " + source
	}
	return text
}

// sharedText lists shared files, one a line: size in bytes, digest, path. A line before them says where the workload came
// from, unless source is empty.
func sharedText(files []File, source string) []byte {
	var b strings.Builder
	if source != "" {
		b.WriteString(sourcePrefix + source + "\n")
	}
	for _, f := range files {
		fmt.Fprintf(&b, "%d %s %s\n", f.Size, f.Digest, f.Path)
	}
	return []byte(b.String())
}

// parseShared reads what sharedText writes and checks the paths together with those of the bundle's own files.
func parseShared(text string, own []File) (files []File, source string, err error) {
	if rest, ok := strings.CutPrefix(text, sourcePrefix); ok {
		source, text, _ = strings.Cut(rest, "\n")
		if len(source) > maxSource || source != oneLine(source) || source == "" {
			return nil, "", fmt.Errorf("source %.100q: expected one line of at most %d bytes", source, maxSource)
		}
	}
	for line := range strings.Lines(text) {
		size, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		digestText, name, ok := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || !ok || n < 0 || !strings.HasPrefix(name, dirWorkload+"/") {
			return nil, "", fmt.Errorf("line %.100q: expected a size, a digest and a path below %s/", line, dirWorkload)
		}
		digest, err := corpus.ParseDigest(digestText)
		if err != nil {
			return nil, "", fmt.Errorf("line %.100q: %w", line, err)
		}
		files = append(files, File{Path: name, Size: n, Digest: digest})
	}
	if len(files) == 0 || len(files) > maxShared {
		return nil, "", fmt.Errorf("%d shared files, 1 to %d are allowed", len(files), maxShared)
	}
	return files, source, checkFiles(append(slices.Clone(own), files...))
}

// Shared lists the workload's files that are beside the bundle.
func (b *Bundle) Shared() []File { return slices.Clone(b.shared) }

// InWorkload is the path of a workload's file below the workload's folder.
func (f File) InWorkload() string { return strings.TrimPrefix(f.Path, dirWorkload+"/") }

// Look adds a place where Extract and Missing look for shared files, after the folder beside the bundle; name is what Place returns
// of it.
func (b *Bundle) Look(name string, source corpus.Opener) {
	b.places = append(b.places, place{name, source})
}

// place is where shared files may be.
type place struct {
	name   string
	source corpus.Opener
}

// Place returns the name of the place that a shared file is taken from, empty if no place has it.
func (b *Bundle) Place(ctx context.Context, f File) string {
	at, content, _, _ := b.find(ctx, f)
	if content != nil {
		_ = content.Close() // only opened
	}
	return at
}

// find opens a shared file at the first place that has it, and returns that place's name. The error is that of a place that has the
// file but cannot give it, or a *MissingError.
func (b *Bundle) find(ctx context.Context, f File) (at string, content io.ReadCloser, size int64, err error) {
	for _, p := range b.places {
		if content, size, err = p.source.Open(ctx, f.Digest); !errors.Is(err, corpus.ErrNotFound) {
			return p.name, content, size, err
		}
	}
	return "", nil, 0, b.missingError(f)
}

// CopyShared copies the shared files to a store. The error is a *MissingError when one cannot be found.
func (b *Bundle) CopyShared(ctx context.Context, to corpus.Store) error {
	for _, f := range b.shared {
		if err := putShared(ctx, to, f, func() (io.ReadCloser, error) { return b.openShared(ctx, f) }); err != nil {
			return err
		}
	}
	return nil
}

// Missing returns the shared files that are in none of the places.
func (b *Bundle) Missing(ctx context.Context) ([]File, error) {
	var missing []File
	for _, f := range b.shared {
		content, err := b.openShared(ctx, f)
		if errors.Is(err, corpus.ErrNotFound) {
			missing = append(missing, f)
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := content.Close(); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// VerifyShared reads a shared file where it lies. The error is a *MissingError where no place has it, a *corpus.MismatchError
// or one about its size where it is damaged.
func (b *Bundle) VerifyShared(ctx context.Context, f File) error {
	content, err := b.openShared(ctx, f)
	if err != nil {
		return err
	}
	_, _, err = corpus.Receive(ctx, io.Discard, content, f.Digest, 0)
	return errors.Join(err, content.Close())
}

func (b *Bundle) missingError(files ...File) error {
	return &MissingError{Files: files, Workload: workloadText(b.reproducer, b.source)}
}

func (b *Bundle) openShared(ctx context.Context, f File) (io.ReadCloser, error) {
	_, content, size, err := b.find(ctx, f)
	if err != nil {
		return nil, err
	}
	if size != f.Size {
		err := fmt.Errorf("%s: the shared file %s has %d bytes, not %d", f.Path, f.Digest, size, f.Size)
		return nil, errors.Join(err, content.Close())
	}
	return content, nil
}

func (b *Bundle) extractShared(root *os.Root) error {
	ctx := context.Background()
	missing, err := b.Missing(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return b.missingError(missing...)
	}
	for _, f := range b.shared {
		content, err := b.openShared(ctx, f)
		if err != nil {
			return err
		}
		err = writeShared(ctx, root, f, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

func writeShared(ctx context.Context, root *os.Root, f File, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeOf(f))
	if err != nil {
		return err
	}
	_, _, err = corpus.Receive(ctx, file, io.LimitReader(content, f.Size+1), f.Digest, 0)
	return errors.Join(err, file.Close())
}
