package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// output is standard output or standard error. Names and texts of bundles, recordings and coordinators are written by others, and a
// terminal obeys what is in them: so it makes visible whatever a terminal would obey. It keeps the first error in writing.
type output struct {
	io.Writer
	failed error

	mu    sync.Mutex
	begun []byte // the first bytes of a character whose others are still to come
}

// Write writes to the output.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := append(o.begun, p...)
	whole := len(text) - unfinished(text)
	o.begun = append([]byte(nil), text[whole:]...)
	if err := o.write(visible(text[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// end writes what is left of a character that never came whole.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.begun) > 0 {
		_ = o.write(visible(o.begun)) // kept in failed
	}
}

func (o *output) write(text []byte) error {
	_, err := o.Writer.Write(text)
	if o.failed == nil {
		o.failed = err
	}
	return err
}

// unfinished is how many bytes at the end of a string begin a character that continues.
func unfinished(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// obeyed reports whether a terminal does something at a character other than to show it: control characters, and those that change
// the direction in which text is shown (Unicode's Bidi_Control).
func obeyed(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// visible returns a string with what a terminal would obey as \u and its code, as JSON has it, so that JSON means the same as
// before.
func visible(text []byte) []byte {
	if utf8.Valid(text) && bytes.IndexFunc(text, obeyed) < 0 {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if obeyed(r) {
			out = fmt.Appendf(out, "\\u%04x", r)
		} else {
			out = utf8.AppendRune(out, r) // U+FFFD for what is no UTF-8
		}
		text = text[n:]
	}
	return out
}

// direct is what w writes to: a program that is started gets the file itself.
func direct(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.Writer
	}
	return w
}

// fileOf returns the file that w writes to, nil if it is none.
func fileOf(w io.Writer) *os.File {
	f, _ := direct(w).(*os.File)
	return f
}

// contents is where the bytes of a file go: as they are into another file or a program, and made visible to a terminal.
func contents(w io.Writer) io.Writer {
	if onTerminal(w) {
		return w
	}
	return direct(w)
}

// onTerminal reports whether w writes to a terminal.
func onTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}
