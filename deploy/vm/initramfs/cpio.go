// Package initramfs writes archives that a Linux kernel unpacks into memory as its first root.
package initramfs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Writer writes a cpio archive in the "newc" form of Documentation/driver-api/early-userspace/buffer-format.rst. The same calls
// produce the same bytes: times, users and inode numbers of the host are left out. Everything belongs to root. Parent folders of an
// entry are added (0755) unless already written. Not safe for concurrent use.
type Writer struct {
	out   *bufio.Writer
	bytes int64
	inode uint32
	seen  map[string]bool
	depth int
}

// NewWriter returns a Writer to w. Close it.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 1<<20), seen: map[string]bool{}}
}

// File types of mode (stat.h).
const (
	typeChar    = 0o020000
	typeDir     = 0o040000
	typeFile    = 0o100000
	typeSymlink = 0o120000
	typeMask    = 0o170000
)

// maxEntry is the largest size in bytes that eight hexadecimal digits can represent.
const maxEntry = 1<<32 - 1

// Dir writes a folder. Writing one twice is not an error; the first call counts.
func (w *Writer) Dir(name string, perm os.FileMode) error {
	name, err := w.enter(name)
	if err != nil || w.seen[name] {
		return err
	}
	w.seen[name] = true
	return w.header(name, typeDir|uint32(perm.Perm())|sticky(perm), 0)
}

// Symlink writes a symbolic link.
func (w *Writer) Symlink(name, target string) error {
	name, err := w.enter(name)
	if err != nil || w.seen[name] {
		return err
	}
	w.seen[name] = true
	if err := w.header(name, typeSymlink|0o777, int64(len(target))); err != nil {
		return err
	}
	return w.body(strings.NewReader(target), int64(len(target)), name)
}

// Bytes writes a file.
func (w *Writer) Bytes(name string, perm os.FileMode, data []byte) error {
	return w.File(name, perm, strings.NewReader(string(data)), int64(len(data)))
}

// File writes a file of exactly size bytes. Writing a name twice is an error: the kernel would take one of the two silently.
func (w *Writer) File(name string, perm os.FileMode, r io.Reader, size int64) error {
	name, err := w.enter(name)
	if err != nil {
		return err
	}
	if w.seen[name] {
		return fmt.Errorf("initramfs: %s is there twice; leave one of the two out", name)
	}
	w.seen[name] = true
	if err := w.header(name, typeFile|uint32(perm.Perm()), size); err != nil {
		return err
	}
	return w.body(r, size, name)
}

// CharDevice writes a character device.
func (w *Writer) CharDevice(name string, perm os.FileMode, major, minor uint32) error {
	name, err := w.enter(name)
	if err != nil {
		return err
	}
	if w.seen[name] {
		return fmt.Errorf("initramfs: %s is there twice; leave one of the two out", name)
	}
	w.seen[name] = true
	return w.node(name, typeChar|uint32(perm.Perm()), 0, major, minor)
}

// Has reports whether name was written.
func (w *Writer) Has(name string) bool { return w.seen[clean(name)] }

// Host copies a file of the host; links are followed. The copy is readable by all, and executable by all if anybody may execute the
// original: the guest's ordinary user is not its owner, and the rest of a mode depends on how the file was unpacked. A name already
// written is left unchanged.
func (w *Writer) Host(name, file string) error {
	if w.Has(name) {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("initramfs: %s is not a regular file", file)
	}
	perm := os.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		perm = 0o755
	}
	return w.File(name, perm, f, info.Size())
}

// Tree copies the host's folder dir as name. Links within it are kept and point directly to their final targets; for a link that
// leads out of it to a file or a folder, such as those of Debian's JDKs to /etc, the target is copied. skip, when not nil, is
// called with each path relative to dir; paths for which it returns true (folders with their contents) are left out. Sockets, pipes
// and devices are left out.
func (w *Writer) Tree(name, dir string, skip func(rel string) bool) error {
	return filepath.WalkDir(dir, func(p string, entry os.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("initramfs: %w", err)
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return fmt.Errorf("initramfs: %w", err)
		}
		if rel != "." && skip != nil && skip(rel) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		target := path.Join(name, filepath.ToSlash(rel))
		switch {
		case entry.IsDir():
			// Readable by the guest's ordinary user, whoever owns it here.
			return w.Dir(target, 0o755)
		case entry.Type()&os.ModeSymlink != 0:
			return w.link(target, p, dir)
		case entry.Type().IsRegular():
			return w.Host(target, p)
		default:
			return nil
		}
	})
}

// link copies the host's link p, which lies below dir.
func (w *Writer) link(name, p, dir string) error {
	text, err := os.Readlink(p)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	end, err := filepath.EvalSymlinks(p)
	if err != nil { // dangling on the host, so dangling in the guest
		return w.Symlink(name, text)
	}
	if rel, err := filepath.Rel(top, end); err == nil && filepath.IsLocal(rel) {
		// Point to the final target: the link's own text may depend on where dir is on the host.
		from, err := filepath.EvalSymlinks(filepath.Dir(p))
		if err != nil {
			return fmt.Errorf("initramfs: %w", err)
		}
		if rel, err = filepath.Rel(from, end); err != nil {
			return fmt.Errorf("initramfs: %w", err)
		}
		return w.Symlink(name, rel)
	}
	info, err := os.Stat(end)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	switch {
	case info.Mode().IsRegular():
		return w.Host(name, end)
	case info.IsDir() && w.depth < maxDepth:
		w.depth++
		defer func() { w.depth-- }()
		return w.Tree(name, end, nil)
	default:
		return w.Symlink(name, text)
	}
}

// maxDepth bounds how deeply links to folders outside are followed within one another: they may form a cycle.
const maxDepth = 4

// Close ends the archive. It does not close the underlying writer.
func (w *Writer) Close() error {
	if err := w.header("TRAILER!!!", 0, 0); err != nil {
		return err
	}
	// Padded archives can be concatenated; cpio itself pads to 512 bytes.
	if err := w.pad(512); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	return nil
}

// enter checks a name and writes its parent folders.
func (w *Writer) enter(name string) (string, error) {
	name = clean(name)
	if name == "" || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("initramfs: bad name %q", name)
	}
	if parent := path.Dir(name); parent != "." && !w.seen[parent] {
		if err := w.Dir(parent, 0o755); err != nil {
			return "", err
		}
	}
	return name, nil
}

func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

func (w *Writer) header(name string, mode uint32, size int64) error {
	return w.node(name, mode, size, 0, 0)
}

func (w *Writer) node(name string, mode uint32, size int64, major, minor uint32) error {
	if size < 0 || size > maxEntry {
		return fmt.Errorf("initramfs: %s has %d bytes, at most %d fit", name, size, int64(maxEntry))
	}
	w.inode++
	links := 1
	if mode&typeMask == typeDir {
		links = 2
	}
	// magic, inode, mode, uid, gid, links, time, size, device (major, minor), special device (major, minor), name size, checksum
	err := w.printf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		w.inode, mode, 0, 0, links, 0, size, 0, 0, major, minor, len(name)+1, 0, name)
	if err != nil {
		return err
	}
	return w.pad(4)
}

func (w *Writer) body(r io.Reader, size int64, name string) error {
	n, err := io.Copy(w.out, io.LimitReader(r, size))
	w.bytes += n
	if err != nil {
		return fmt.Errorf("initramfs: writing %s: %w", name, err)
	}
	if n != size {
		return fmt.Errorf("initramfs: %s gave %d bytes of %d: it changed while it was read", name, n, size)
	}
	return w.pad(4)
}

func (w *Writer) printf(format string, args ...any) error {
	n, err := fmt.Fprintf(w.out, format, args...)
	w.bytes += int64(n)
	if err != nil {
		return fmt.Errorf("initramfs: %w", err)
	}
	return nil
}

func (w *Writer) pad(to int64) error {
	for w.bytes%to != 0 {
		if err := w.out.WriteByte(0); err != nil {
			return fmt.Errorf("initramfs: %w", err)
		}
		w.bytes++
	}
	return nil
}

func sticky(perm os.FileMode) uint32 {
	if perm&os.ModeSticky != 0 {
		return 0o1000
	}
	return 0
}
