package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"misstep/corpus"
)

// Option changes how Scan and Fingerprint read a folder.
type Option func(*scanner)

// InlineOutside replaces a symbolic link that leaves the tree by the file or folder that it points to if keep(path, target) is
// true, and omits it otherwise, as well as one that points to nothing. Without this option such a link is an error. path is the
// link's path within the tree, target the resolved absolute path. Debian's JDKs have their conf in /etc that way.
func InlineOutside(keep func(path, target string) bool) Option {
	return func(s *scanner) { s.inline = keep }
}

// Scan lists the folder dir and digests its files. It follows no link out of the tree, and refuses sockets, pipes and devices.
func Scan(dir string, options ...Option) (Manifest, error) {
	items, err := list(dir, options)
	if err != nil {
		return Manifest{}, fmt.Errorf("scan tree %s: %w", dir, err)
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range items {
		if items[i].isFile() {
			group.Go(func() error { return digestFile(ctx, &items[i]) })
		}
	}
	if err := group.Wait(); err != nil {
		return Manifest{}, fmt.Errorf("scan tree %s: %w", dir, err)
	}
	entries := make([]Entry, len(items))
	for i := range items {
		entries[i] = items[i].Entry
	}
	m, err := New(entries)
	if err != nil {
		return Manifest{}, fmt.Errorf("scan tree %s: %w", dir, err)
	}
	return m, nil
}

// Fingerprint digests the names, sizes, times and inodes of what Scan with the same options would read, without reading the
// files. While it stays the same, nobody has changed the tree by ordinary means, and its manifest remains valid.
func Fingerprint(dir string, options ...Option) (corpus.Digest, error) {
	items, err := list(dir, options)
	if err != nil {
		return corpus.Digest{}, fmt.Errorf("fingerprint tree %s: %w", dir, err)
	}
	hasher := corpus.NewHasher()
	for i := range items {
		item := &items[i]
		_, _ = fmt.Fprintf(hasher, "%s %q %q\n", item.Kind, item.Path, item.Target)
		if item.isFile() {
			var stat unix.Stat_t
			if err := unix.Stat(item.file, &stat); err != nil {
				return corpus.Digest{}, fmt.Errorf("fingerprint tree: stat %s: %w", item.file, err)
			}
			_, _ = fmt.Fprintln(hasher, stat.Dev, stat.Ino, stat.Size, stat.Mode, stat.Mtim, stat.Ctim)
		}
	}
	return hasher.Digest(), nil
}

// item is an Entry and the file with its bytes.
type item struct {
	Entry
	file string
}

type scanner struct {
	inline func(path, target string) bool
	items  []item
}

func list(dir string, options []Option) ([]item, error) {
	s := &scanner{}
	for _, option := range options {
		option(s)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	if err := s.walk(dir, "", false); err != nil {
		return nil, err
	}
	if err := s.outside(); err != nil {
		return nil, err
	}
	slices.SortFunc(s.items, func(a, b item) int { return strings.Compare(a.Path, b.Path) })
	return s.items, nil
}

// walk lists the folder at file under the path prefix; with follow every link is replaced by what it points to.
func (s *scanner) walk(file, prefix string, follow bool) error {
	children, err := os.ReadDir(file)
	if err != nil {
		return err
	}
	for _, child := range children {
		name, at := path.Join(prefix, child.Name()), filepath.Join(file, child.Name())
		if err := CheckPath(name); err != nil {
			return err
		}
		if err := s.add(at, name, child.Type(), follow); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) add(file, name string, mode fs.FileMode, follow bool) error {
	if len(s.items) >= MaxEntries {
		return fmt.Errorf("more than %d entries", MaxEntries)
	}
	if mode&fs.ModeSymlink != 0 {
		if follow {
			return s.addTarget(file, name)
		}
		target, err := os.Readlink(file)
		if err != nil {
			return err
		}
		s.items = append(s.items, item{Entry{Kind: KindLink, Path: name, Target: target}, file})
		return nil
	}
	switch {
	case mode.IsDir():
		s.items = append(s.items, item{Entry{Kind: KindDir, Path: name}, file})
		return s.walk(file, name, follow)
	case mode.IsRegular():
		s.items = append(s.items, item{Entry{Kind: KindFile, Path: name}, file})
		return s.executable(&s.items[len(s.items)-1])
	default:
		return fmt.Errorf("%s is neither a file nor a folder nor a link (%s): a tree cannot hold it", file, mode)
	}
}

func (s *scanner) executable(i *item) error {
	info, err := os.Stat(i.file)
	if err != nil {
		return err
	}
	i.Size = info.Size()
	if info.Mode()&0o111 != 0 {
		i.Kind = KindExecutable
	}
	return nil
}

// addTarget adds what the link file points to under the path name; nothing if that does not exist.
func (s *scanner) addTarget(file, name string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.add(file, name, info.Mode().Type(), true)
}

// outside resolves the links that leave the tree.
func (s *scanner) outside() error {
	links := map[string]string{}
	for _, i := range s.items {
		if i.Kind == KindLink {
			links[i.Path] = i.Target
		}
	}
	lookup := func(p string) (string, bool) { target, ok := links[p]; return target, ok }
	steps := maxSteps
	listed := s.items
	s.items = nil
	for _, i := range listed {
		var err error
		if i.Kind == KindLink {
			err = resolve(i.Path, i.Target, lookup, &steps)
		}
		switch {
		case err == nil:
			s.items = append(s.items, i)
		case !errors.Is(err, errLeaves) || s.inline == nil:
			return fmt.Errorf("link %s to %s: %w", i.file, i.Target, err)
		default:
			resolved, err := filepath.EvalSymlinks(i.file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("link %s to %s: %w", i.file, i.Target, err)
			}
			if !s.inline(i.Path, resolved) {
				continue
			}
			if err := s.addTarget(resolved, i.Path); err != nil {
				return fmt.Errorf("link %s to %s: %w", i.file, i.Target, err)
			}
		}
	}
	return nil
}

func digestFile(ctx context.Context, i *item) error {
	// O_NONBLOCK: if the file has become a pipe since it was listed, opening it does not wait for a writer.
	file, err := os.OpenFile(i.file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	i.Digest, i.Size, err = corpus.Receive(ctx, io.Discard, file, corpus.Digest{}, MaxBytes)
	if err != nil {
		return fmt.Errorf("read %s: %w", i.file, err)
	}
	return nil
}
