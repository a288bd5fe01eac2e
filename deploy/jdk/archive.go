package jdk

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"

	"misstep/corpus"
	"misstep/corpus/tree"
)

// Bounds of archives.
const (
	maxArchive  = 2 << 30 // bytes of the archive
	maxUnpacked = 8 << 30 // bytes of its content
)

type archive struct {
	location string
	isURL    bool
}

func (a archive) source() string { return a.location }

func (a archive) fetch(ctx context.Context, work string, options AddOptions) (build, error) {
	want, err := corpus.ParseDigest("sha256:" + strings.ToLower(options.SHA256))
	if err != nil {
		return build{}, err
	}
	file, err := os.OpenFile(filepath.Join(work, "archive"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return build{}, err
	}
	defer file.Close()
	// Copied even if it is on this machine, so that exactly the verified bytes are unpacked.
	if err := a.copy(ctx, file, want, options); err != nil {
		return build{}, err
	}
	root := filepath.Join(work, "unpacked")
	if err := os.Mkdir(root, 0o755); err != nil {
		return build{}, err
	}
	options.report("unpacking", 0, 0)
	if err := unpack(ctx, file, root); err != nil {
		return build{}, fmt.Errorf("unpack: %w", err)
	}
	home, err := findHome(root)
	return build{home: home}, err
}

func (a archive) copy(ctx context.Context, file *os.File, want corpus.Digest, options AddOptions) error {
	source, size, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	if size > maxArchive {
		return fmt.Errorf("the archive has %d bytes, at most %d are accepted: %w", size, int64(maxArchive), corpus.ErrTooLarge)
	}
	counted := &countingReader{r: source, report: func(done int64) { options.report("reading the archive", done, max(size, 0)) }}
	_, _, err = corpus.Receive(ctx, file, counted, want, maxArchive)
	if mismatch, ok := errors.AsType[*corpus.MismatchError](err); ok {
		return fmt.Errorf("the archive has SHA-256 %s, not %s: damaged, replaced, or a mistyped digest", mismatch.Got.Hex(),
			mismatch.Want.Hex())
	}
	return err
}

// open returns the archive and its size, -1 if unknown.
func (a archive) open(ctx context.Context) (io.ReadCloser, int64, error) {
	if !a.isURL {
		file, err := os.Open(a.location)
		if err != nil {
			return nil, 0, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, 0, errors.Join(err, file.Close())
		}
		if !info.Mode().IsRegular() {
			return nil, 0, errors.Join(fmt.Errorf("%s is neither folder nor file", a.location), file.Close())
		}
		return file, info.Size(), nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.location, nil)
	if err != nil {
		return nil, 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, 0, errors.Join(fmt.Errorf("the server answered %s", response.Status), response.Body.Close())
	}
	return response.Body, response.ContentLength, nil
}

// client bounds the time to connect and to wait for the response; reading the body is bounded by the context only.
var client = &http.Client{Transport: &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	DialContext:           (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
	TLSHandshakeTimeout:   30 * time.Second,
	ResponseHeaderTimeout: time.Minute,
	DisableCompression:    true, // the digest covers the stored bytes
}}

type countingReader struct {
	r      io.Reader
	done   int64
	report func(done int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	c.report(c.done)
	return n, err
}

// unpack extracts an archive whose format is recognised by its first bytes, not by its name. Paths with "..", absolute paths,
// devices, duplicates and names that differ only in case are errors; links are created last, and os.Root confines every write to
// root.
func unpack(ctx context.Context, file *os.File, root string) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	buffered := bufio.NewReader(file)
	magic, _ := buffered.Peek(6) // a shorter file matches no format
	out, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer out.Close()
	x := &extractor{ctx: ctx, root: out, left: maxUnpacked}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		stream, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		return x.tar(stream)
	case bytes.HasPrefix(magic, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		stream, err := xz.NewReader(buffered)
		if err != nil {
			return err
		}
		return x.tar(stream)
	case bytes.HasPrefix(magic, []byte("PK")):
		info, err := file.Stat()
		if err != nil {
			return err
		}
		return x.zip(file, info.Size())
	default:
		return fmt.Errorf("neither gzip nor xz nor zip (it begins with % x); give a .tar.gz, .tar.xz or .zip", magic)
	}
}

type extractor struct {
	ctx     context.Context // lives for one extraction
	root    *os.Root
	left    int64
	entries int
	links   [][2]string // path and target
}

func (x *extractor) tar(stream io.Reader) error {
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return x.finish()
		}
		if err != nil {
			return err
		}
		switch header.Typeflag {
		case tar.TypeDir:
			err = x.dir(header.Name)
		case tar.TypeReg:
			err = x.file(header.Name, header.FileInfo().Mode(), archive)
		case tar.TypeSymlink:
			err = x.link(header.Name, header.Linkname)
		case tar.TypeLink:
			err = x.hardLink(header.Name, header.Linkname)
		case tar.TypeXGlobalHeader:
		default:
			err = fmt.Errorf("is of type %q: neither file nor folder nor link", header.Typeflag)
		}
		if err != nil {
			return fmt.Errorf("entry %.200q: %w", header.Name, err)
		}
	}
}

func (x *extractor) zip(file io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return err
	}
	for _, entry := range archive.File {
		if err := x.zipEntry(entry); err != nil {
			return fmt.Errorf("entry %.200q: %w", entry.Name, err)
		}
	}
	return x.finish()
}

func (x *extractor) zipEntry(entry *zip.File) error {
	mode := entry.Mode()
	if mode.IsDir() {
		return x.dir(entry.Name)
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	switch {
	case mode.IsRegular():
		return x.file(entry.Name, mode, content)
	case mode&fs.ModeSymlink != 0:
		target, err := io.ReadAll(io.LimitReader(content, 4096))
		if err != nil {
			return err
		}
		return x.link(entry.Name, string(target))
	default:
		return fmt.Errorf("is of type %s: neither file nor folder nor link", mode)
	}
}

// name checks an entry's name and returns it as a path of a tree; "" is the root itself.
func (x *extractor) name(raw string) (string, error) {
	if x.entries++; x.entries > tree.MaxEntries {
		return "", fmt.Errorf("more than %d entries", tree.MaxEntries)
	}
	if err := x.ctx.Err(); err != nil {
		return "", err
	}
	name := strings.TrimSuffix(strings.TrimPrefix(raw, "./"), "/")
	if name == "" || name == "." {
		return "", nil
	}
	return name, tree.CheckPath(name)
}

func (x *extractor) dir(raw string) error {
	name, err := x.name(raw)
	if err != nil || name == "" {
		return err
	}
	return x.root.MkdirAll(name, 0o755)
}

// parent creates the folder of an entry; archives may omit entries of folders.
func (x *extractor) parent(raw string) (string, error) {
	name, err := x.name(raw)
	if err == nil && name == "" {
		err = errors.New("has no name")
	}
	if err == nil {
		err = x.root.MkdirAll(path.Dir(name), 0o755)
	}
	return name, err
}

func (x *extractor) file(raw string, mode fs.FileMode, content io.Reader) error {
	name, err := x.parent(raw)
	if err != nil {
		return err
	}
	permissions := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		permissions = 0o755
	}
	file, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, permissions)
	if err != nil {
		return err
	}
	_, size, err := corpus.Receive(x.ctx, file, io.LimitReader(content, x.left+1), corpus.Digest{}, 0)
	if x.left -= size; x.left < 0 {
		err = errors.Join(err, fmt.Errorf("more than %d bytes in all: %w", int64(maxUnpacked), corpus.ErrTooLarge))
	}
	return errors.Join(err, file.Close())
}

func (x *extractor) link(raw, target string) error {
	name, err := x.parent(raw)
	x.links = append(x.links, [2]string{name, target})
	return err
}

func (x *extractor) hardLink(raw, target string) error {
	name, err := x.parent(raw)
	if err != nil {
		return err
	}
	target = strings.TrimPrefix(target, "./")
	if err := tree.CheckPath(target); err != nil {
		return fmt.Errorf("link target: %w", err)
	}
	return x.root.Link(target, name)
}

// finish creates the links; tree.Scan checks their targets before anything is used.
func (x *extractor) finish() error {
	for _, link := range x.links {
		if err := x.root.Symlink(link[1], link[0]); err != nil {
			return fmt.Errorf("entry %.200q: %w", link[0], err)
		}
	}
	return nil
}

// findHome finds the JAVA_HOME in an unpacked archive: its root, or a folder at most three levels below, as in macOS's
// jdk/Contents/Home.
func findHome(root string) (string, error) {
	for _, pattern := range []string{".", "*", "*/*", "*/*/*"} {
		found, err := fs.Glob(os.DirFS(root), path.Join(pattern, "bin/java"))
		if err != nil {
			return "", err
		}
		switch len(found) {
		case 0:
		case 1:
			return filepath.Join(root, path.Dir(path.Dir(found[0]))), nil
		default:
			return "", fmt.Errorf("the archive holds %d JDKs; unpack it and add the folder of one", len(found))
		}
	}
	return "", errors.New("the archive holds no bin/java: not a JDK for this system")
}
