package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// maxInput bounds the bytes of one input that are read, after decompression. A report may be far down in the log of a program; what
// decompresses to more is no log that somebody keeps.
const maxInput = 256 << 20

// Stdin is the name of the standard input on a command line.
const Stdin = "-"

// open opens a file, or the standard input.
func open(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == Stdin {
		return io.NopCloser(stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err // whoever prints it names the file
		}
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("%w: give the files in it", syscall.EISDIR)
	}
	return f, nil
}

var gzipMagic = []byte{0x1f, 0x8b}

// foreign formats begin with these bytes.
var foreign = []struct{ magic, what string }{
	{"PK\x03\x04", "a zip archive: unpack it"},
	{"\xfd7zXZ\x00", "compressed by xz: decompress it"},
	{"\x28\xb5\x2f\xfd", "compressed by zstd: decompress it"},
	{"BZh", "compressed by bzip2: decompress it"},
	{"\x7fELF", "a core file or a library, not text: HotSpot writes hs_err_pidNNN.log beside a core file"},
	{"JAVA PROFILE", "a heap dump: threads are in the output of jstack or jcmd PID Thread.print"},
	{"FLR\x00", "a recording of JFR: threads are in the output of jstack or jcmd PID Thread.print"},
}

// text is the text of an input: decompressed, in UTF-8 without a byte order mark, and bounded.
type text struct {
	*bufio.Reader
	limited *io.LimitedReader
}

// unzipped explains errors of decompressing.
type unzipped struct{ r io.Reader }

// Read wraps all errors but that of the regular end.
func (u unzipped) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("decompress: %w: the file was cut or damaged", err)
	}
	return n, err
}

// decode returns the text of an input. UTF-16 is what PowerShell writes into the file of a redirection.
func decode(r io.Reader) (*text, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(16)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	var plain io.Reader = in
	if bytes.HasPrefix(head, gzipMagic) {
		compressed, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		plain = unzipped{compressed}
	}
	limited := &io.LimitedReader{R: plain, N: maxInput}
	decoded := bufio.NewReaderSize(transform.NewReader(limited, unicode.BOMOverride(transform.Nop)), 64<<10)
	if head, err = decoded.Peek(16); len(head) == 0 {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, errors.New("empty")
	}
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return nil, fmt.Errorf("%s", f.what)
		}
	}
	if head, _ := decoded.Peek(peeked); bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		lines := runes.Map(func(r rune) rune {
			if r == '\r' { // of an editor, or of a terminal's recording
				return '\n'
			}
			return r
		})
		decoded = bufio.NewReaderSize(transform.NewReader(decoded, lines), 64<<10)
	}
	return &text{decoded, limited}, nil
}

// logged is a line of a program's output as Docker's driver json-file keeps it.
type logged struct {
	Log *string `json:"log"`
}

var loggedMark = []byte(`{"log":"`)

// unlogged returns the line of output that a line of Docker's log has, else the line itself.
func unlogged(line []byte) []byte {
	if !bytes.HasPrefix(line, loggedMark) {
		return line
	}
	var l logged
	if json.Unmarshal(line, &l) != nil || l.Log == nil {
		return line
	}
	return bytes.TrimRight([]byte(*l.Log), "\r\n")
}

// full reports whether the input has more than was read.
func (t *text) full() bool { return t.limited.N <= 0 }
