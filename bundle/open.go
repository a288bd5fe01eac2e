package bundle

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protojson"

	"misstep/corpus"
	"misstep/corpus/localdir"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Bundle is an open bundle whose every byte has been verified. It is safe for concurrent use.
type Bundle struct {
	closer     io.Closer
	files      []File
	entries    map[string]*zip.File
	reproducer *misstepv1.Reproducer
	writtenAs  string  // id of the finding
	shared     []File  // beside the bundle
	source     string  // of the workload that they belong to, for people; may be empty
	places     []place // of shared files
}

// Open opens and verifies the bundle in the file name: its bounds, its paths, the SHA-256 of each entry, and the seal over all
// bytes. The error names the file and what is wrong in it. The caller closes the bundle.
func Open(name string) (*Bundle, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	b, err := openFile(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open bundle %s: %w", name, err), file.Close())
	}
	b.closer = file
	beside := filepath.Join(filepath.Dir(name), SharedDir)
	b.Look(beside, localdir.Reader(beside))
	return b, nil
}

func openFile(file *os.File) (*Bundle, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file: name the bundle's zip file")
	}
	return Read(file, info.Size())
}

// Read is Open for the size bytes of r, which must not change while the bundle is in use.
func Read(r io.ReaderAt, size int64) (*Bundle, error) {
	if size > maxZip {
		return nil, fmt.Errorf("%d bytes, at most %d are accepted: %w", size, int64(maxZip), corpus.ErrTooLarge)
	}
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not a bundle, or one that is cut off or damaged: fetch it anew, and compare its size with the "+
			"original's: %w", err)
	}
	b := &Bundle{closer: io.NopCloser(nil), entries: map[string]*zip.File{}}
	manifest, err := b.list(archive)
	if err != nil {
		return nil, err
	}
	if err := b.verify(manifest); err != nil {
		return nil, err
	}
	if err := checkSeal(r, size, archive.Comment); err != nil {
		return nil, err
	}
	return b, b.parse()
}

// list checks the archive's table of contents, records it, and returns the manifest's entry.
func (b *Bundle) list(archive *zip.Reader) (*zip.File, error) {
	if len(archive.File) > MaxEntries+1 {
		return nil, fmt.Errorf("%d entries, at most %d are allowed", len(archive.File), MaxEntries)
	}
	var manifest *zip.File
	for _, entry := range archive.File {
		if !entry.Mode().IsRegular() {
			return nil, fmt.Errorf("entry %.200q: is of type %s, only files are allowed", entry.Name, entry.Mode().Type())
		}
		if entry.UncompressedSize64 > MaxBytes {
			return nil, fmt.Errorf("entry %.200q: %d bytes: %w", entry.Name, entry.UncompressedSize64, corpus.ErrTooLarge)
		}
		if entry.Name == nameManifest && manifest == nil {
			manifest = entry
			continue
		}
		b.entries[entry.Name] = entry
		// The digest is not known yet; any one serves to check the paths.
		b.files = append(b.files, File{
			Path: entry.Name, Size: int64(entry.UncompressedSize64), Digest: corpus.DigestBytes(nil),
			Executable: entry.Mode()&0o111 != 0,
		})
	}
	sortFiles(b.files)
	if err := checkFiles(b.files); err != nil {
		return nil, err
	}
	if manifest == nil {
		return nil, fmt.Errorf("%s is missing: not a bundle", nameManifest)
	}
	for _, name := range required {
		if b.entries[name] == nil {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return manifest, nil
}

// verify reads all entries and compares them with the manifest.
func (b *Bundle) verify(manifest *zip.File) error {
	text, err := readEntry(manifest)
	if err != nil {
		return fmt.Errorf("entry %s: %w", nameManifest, err)
	}
	digests, err := parseManifest(string(text))
	if err != nil {
		return fmt.Errorf("entry %s: %w", nameManifest, err)
	}
	for i := range b.files {
		f := &b.files[i]
		want, listed := digests[f.Path]
		if !listed {
			return fmt.Errorf("entry %.200q is not in %s", f.Path, nameManifest)
		}
		delete(digests, f.Path)
		f.Digest = want
		if err := b.copy(*f, io.Discard); err != nil {
			return err
		}
	}
	for name := range digests {
		return fmt.Errorf("entry %.200q is in %s but not in the bundle", name, nameManifest)
	}
	return nil
}

// copy writes a file's verified bytes to w.
func (b *Bundle) copy(f File, w io.Writer) error {
	content, err := b.entries[f.Path].Open()
	if err != nil {
		return fmt.Errorf("entry %.200q: damaged: %w", f.Path, err)
	}
	defer content.Close()
	_, size, err := corpus.Receive(context.Background(), w, io.LimitReader(content, f.Size+1), f.Digest, 0)
	if err == nil && size != f.Size {
		err = fmt.Errorf("has %d bytes, not %d", size, f.Size)
	}
	if err != nil {
		return fmt.Errorf("entry %.200q: damaged: %w", f.Path, err)
	}
	return nil
}

func readEntry(entry *zip.File) ([]byte, error) {
	content, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	text, err := io.ReadAll(io.LimitReader(content, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("more than %d bytes: %w", maxText, corpus.ErrTooLarge)
	}
	return text, err
}

// checkSeal compares the zip's comment with the digest of the bytes before it. The entries have been verified by then, so a
// difference is between them.
func checkSeal(r io.ReaderAt, size int64, comment string) error {
	want, err := corpus.ParseDigest(comment)
	if err != nil || size < sealSize {
		return errors.New("has no seal: made by another program, or damaged at its end")
	}
	_, _, err = corpus.Receive(context.Background(), io.Discard, io.NewSectionReader(r, 0, size-sealSize), want, 0)
	if err != nil {
		return fmt.Errorf("damaged outside of its entries: %w", err)
	}
	return nil
}

// parse reads the bundle's format line, its list of shared files and its reproducer.
func (b *Bundle) parse() error {
	format, err := readEntry(b.entries[nameFormat])
	if err != nil || string(format) != formatLine && string(format) != formatLineShared {
		return fmt.Errorf("format %.40q: this Misstep reads %q and %q, a newer one is needed", format, formatLine, formatLineShared)
	}
	if err := b.parseShared(string(format) == formatLineShared); err != nil {
		return fmt.Errorf("entry %s: %w", nameShared, err)
	}
	text, err := readEntry(b.entries[nameReproducer])
	if err != nil {
		return fmt.Errorf("entry %s: %w", nameReproducer, err)
	}
	b.reproducer = &misstepv1.Reproducer{}
	// A later Misstep may have added fields.
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, b.reproducer); err != nil {
		return fmt.Errorf("entry %s: %w", nameReproducer, err)
	}
	if b.reproducer.GetFinding() == nil || b.reproducer.GetRecipe() == nil {
		return fmt.Errorf("entry %s: %w", nameReproducer, errNoReproducer)
	}
	b.writtenAs = b.reproducer.GetFinding().GetId()
	signature.UpgradeFinding(b.reproducer.GetFinding())
	return b.checkRecording()
}

// WrittenAs returns the id that the finding had when the bundle was written, by which indexes name it; the reproducer's finding has
// the current one.
func (b *Bundle) WrittenAs() string { return b.writtenAs }

func (b *Bundle) parseShared(has bool) error {
	entry := b.entries[nameShared]
	if !has {
		return nil
	}
	if entry == nil {
		return errors.New("is missing")
	}
	text, err := readEntry(entry)
	if err != nil {
		return err
	}
	b.shared, b.source, err = parseShared(string(text), b.files)
	return err
}

// Reproducer returns what the bundle reproduces. It must not be changed.
func (b *Bundle) Reproducer() *misstepv1.Reproducer { return b.reproducer }

// Files lists the files by path, without the manifest.
func (b *Bundle) Files() []File { return append([]File(nil), b.files...) }

// ReadFile returns the bytes of a file of at most 16 MiB, e.g. README.md.
func (b *Bundle) ReadFile(name string) ([]byte, error) {
	entry := b.entries[name]
	if entry == nil {
		return nil, fmt.Errorf("bundle: %s: %w", name, os.ErrNotExist)
	}
	text, err := readEntry(entry)
	if err != nil {
		return nil, fmt.Errorf("bundle: %s: %w", name, err)
	}
	return text, nil
}

// Extract unpacks the bundle into the new folder dir, which appears whole or not at all.
func (b *Bundle) Extract(dir string) error {
	if err := b.extract(dir); err != nil {
		return fmt.Errorf("unpack bundle into %s: %w", dir, err)
	}
	return nil
}

func (b *Bundle) extract(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return os.ErrExist
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".unpack-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range b.files {
		if err := b.extractFile(root, f); err != nil {
			return err
		}
	}
	if err := b.extractShared(root); err != nil {
		return err
	}
	manifest := manifestText(b.files)
	if err := root.WriteFile(nameManifest, manifest, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, dir)
}

func (b *Bundle) extractFile(root *os.Root, f File) error {
	if err := root.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeOf(f))
	if err != nil {
		return err
	}
	return errors.Join(b.copy(f, file), file.Close())
}

// Close releases the file.
func (b *Bundle) Close() error { return b.closer.Close() }
