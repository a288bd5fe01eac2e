package jdk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"misstep/catalogue"
	"misstep/corpus/tree"
	"misstep/internal/atomicfile"
	"misstep/internal/filelock"
)

// Progress receives what Add is doing: the step in a few words, and the bytes done of the total, or zeros when these are unknown.
type Progress func(step string, done, total int64)

// AddOptions are the options of Add.
type AddOptions struct {
	// SHA256 of an archive in 64 hexadecimal digits; required for archives.
	SHA256 string
	// Progress may be nil.
	Progress Progress
	// AptSources are the apt source files to read; the host's own when empty.
	AptSources []string
}

func (o AddOptions) report(step string, done, total int64) {
	if o.Progress != nil {
		o.Progress(step, done, total)
	}
}

// Add imports a JDK under name from source:
//   - a folder (JAVA_HOME), referenced in place;
//   - the path or http(s) URL of a .tar.gz, .tar.xz or .zip, with its SHA-256;
//   - "debian:openjdk-N" or "debian:openjdk-N@SUITE", from the Debian archive in the host's apt sources, run with the suite's
//     own libc.
//
// The build must start (-Xinternalversion). Adding the same source under the same name again returns the existing entry. An
// interrupted Add leaves nothing that a later one would mistake for a JDK.
func (c *Catalogue) Add(ctx context.Context, name, source string, options AddOptions) (Entry, error) {
	e, err := c.add(ctx, name, source, options)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w; a JDK takes up to 1 GiB while it is imported: free space in %s, or set MISSTEP_HOME to a folder "+
			"with more space",
			err, c.home)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("add JDK %q from %s: %w", name, source, err)
	}
	return e, nil
}

func (c *Catalogue) add(ctx context.Context, name, source string, options AddOptions) (Entry, error) {
	if err := CheckName(name); err != nil {
		return Entry{}, err
	}
	importer, err := chooseImporter(source, &options)
	if err != nil {
		return Entry{}, err
	}
	if err := os.MkdirAll(c.dir(), 0o755); err != nil {
		return Entry{}, err
	}
	unlock, err := c.lock(ctx, name, options)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()

	switch old, err := c.entries.Get(name); {
	case errors.Is(err, catalogue.ErrUnknown):
	case err != nil:
		return Entry{}, err
	case old.Source == importer.source() && strings.EqualFold(old.SHA256, options.SHA256):
		if old, err = c.verify(old); err != nil {
			return Entry{}, err
		}
		return old.Entry, nil
	default:
		return Entry{}, fmt.Errorf("the name is taken by %s; choose another one or `misstep jdk rm %s` first", old.Source, name)
	}

	work, err := c.workFolder(name)
	if err != nil {
		return Entry{}, err
	}
	defer os.RemoveAll(work)
	r := record{Entry: Entry{Name: name, Source: importer.source(), SHA256: strings.ToLower(options.SHA256)}}
	built, err := importer.fetch(ctx, work, options)
	if err != nil {
		return Entry{}, err
	}
	return c.install(ctx, r, built, options)
}

// build is the result of an importer.
type build struct {
	// home is the JAVA_HOME: in the work folder, or the user's own folder when inPlace.
	home     string
	inPlace  bool
	packages []string
	// unresolved libraries, for display.
	unresolved []string
}

type importer interface {
	// source returns the source in the form that is stored.
	source() string
	// fetch brings the build into the empty folder work.
	fetch(ctx context.Context, work string, options AddOptions) (build, error)
}

// SourceForms lists the forms of a source, for errors and help. Each has a branch in chooseImporter.
const SourceForms = "a JAVA_HOME folder, a .tar.gz, .tar.xz or .zip by path or URL, or debian:openjdk-N[@SUITE]"

func chooseImporter(source string, options *AddOptions) (importer, error) {
	if strings.HasPrefix(source, "debian:") {
		if options.SHA256 != "" {
			return nil, errors.New("a SHA-256 is for archives; omit it for Debian's packages, which apt verifies")
		}
		return parseDebian(source)
	}
	isURL := strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
	if !isURL {
		absolute, err := filepath.Abs(source)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(absolute)
		if err != nil {
			return nil, fmt.Errorf("%w; want %s", err, SourceForms)
		}
		if info.IsDir() {
			if options.SHA256 != "" {
				return nil, errors.New("a SHA-256 is for archives; omit it for a folder, whose digest is computed")
			}
			// The link /usr/lib/jvm/default-java may point elsewhere tomorrow.
			absolute, err = filepath.EvalSymlinks(absolute)
			return folder{absolute}, err
		}
		source = absolute
	}
	if digits, err := hex.DecodeString(options.SHA256); err != nil || len(digits) != 32 {
		return nil, fmt.Errorf("SHA-256 %.80q: an archive needs its SHA-256 in 64 hexadecimal digits, as published with it or "+
			"printed by `sha256sum`", options.SHA256)
	}
	return archive{location: source, isURL: isURL}, nil
}

type folder struct{ path string }

func (f folder) source() string { return f.path }

func (f folder) fetch(context.Context, string, AddOptions) (build, error) {
	return build{home: f.path, inPlace: true}, nil
}

// install moves the build to its final place, makes it runnable there and records it.
func (c *Catalogue) install(ctx context.Context, r record, b build, options AddOptions) (Entry, error) {
	if _, err := os.Stat(filepath.Join(b.home, "bin", "java")); err != nil {
		return Entry{}, fmt.Errorf("%s is not a JDK: %w; name the folder that holds bin, lib and release (JAVA_HOME)", b.home, err)
	}
	options.report("digesting files", 0, 0)
	var (
		m   tree.Manifest
		err error
	)
	if b.inPlace {
		m, err = scan(b.home)
	} else {
		m, err = tree.Scan(b.home) // an archive's link to /etc/shadow is refused, not followed
	}
	if err != nil {
		return Entry{}, err
	}
	r.Digest, r.Size, r.Packages, r.Unresolved = m.Digest(), m.Size(), b.packages, b.unresolved
	r.Tree, r.Path = b.home, b.home
	if !b.inPlace {
		if err := c.place(ctx, &r, b.home, m); err != nil {
			return Entry{}, err
		}
	}
	options.report("starting java", 0, 0)
	if err = inspect(ctx, &r.Entry); err == nil {
		r.Flags, err = queryFlags(ctx, r.Path)
	}
	if err != nil {
		return Entry{}, errors.Join(err, c.unplace(r, b))
	}
	r.Fingerprint, err = fingerprint(r.Tree, r.Path)
	if err == nil {
		err = atomicfile.Write(c.file(r.Name, ".manifest"), m.Bytes(), 0o644)
	}
	if err == nil {
		err = c.entries.Put(r) // last: the record makes the build visible
	}
	if err != nil {
		return Entry{}, errors.Join(err, c.unplace(r, b))
	}
	return r.Entry, nil
}

// place copies exactly the manifest's files to jdks/NAME/tree, and creates jdks/NAME/tree.run if the tree has its own libc.
func (c *Catalogue) place(ctx context.Context, r *record, from string, m tree.Manifest) error {
	target := c.file(r.Name, "")
	if err := os.RemoveAll(target); err != nil { // left by an interrupted Remove or Add
		return err
	}
	r.Tree = filepath.Join(target, "tree")
	if err := tree.Fetch(ctx, tree.Source(from, m), m.Digest(), r.Tree); err != nil {
		return errors.Join(err, os.RemoveAll(target))
	}
	var err error
	if r.Path, err = Runnable(ctx, r.Tree); err != nil {
		return errors.Join(err, os.RemoveAll(target))
	}
	return nil
}

func (c *Catalogue) unplace(r record, b build) error {
	if b.inPlace {
		return nil
	}
	return os.RemoveAll(c.file(r.Name, ""))
}

// workPrefix returns the prefix of the folders in which the build name is assembled; no name contains "@".
func workPrefix(name string) string { return ".add-" + name + "@" }

// workFolder creates an empty folder in the catalogue's folder, after removing those that interrupted Adds of that name left.
func (c *Catalogue) workFolder(name string) (string, error) {
	left, err := fs.Glob(os.DirFS(c.dir()), workPrefix(name)+"*")
	if err != nil {
		return "", err
	}
	for _, dir := range left { // the lock is held, so nobody uses them
		if err := os.RemoveAll(filepath.Join(c.dir(), dir)); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(c.dir(), workPrefix(name)+"*")
}

// lock serialises the Adds of one name.
func (c *Catalogue) lock(ctx context.Context, name string, options AddOptions) (unlock func(), err error) {
	waiting := func() { options.report("waiting for another import under this name", 0, 0) }
	return lockFile(ctx, filepath.Join(c.dir(), ".lock-"+name), waiting)
}

// lockFile locks a file, which it makes, as filelock.Wait does.
func lockFile(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	return filelock.Wait(ctx, file, waiting)
}
