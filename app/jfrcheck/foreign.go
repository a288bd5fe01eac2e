package jfrcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"misstep/runner/recording"
)

// ErrForeign is wrapped by errors about what is neither a recording nor a profile in one of the other forms.
var ErrForeign = errors.New("neither a JFR recording, nor a profile of pprof, nor collapsed stacks")

// Bounds of profiles in other forms.
const (
	// mostDepth is the number of frames of a stack that are read; a deeper one counts as truncated.
	mostDepth = 1 << 14
	// mostWeight is the number of samples that one stack may stand for.
	mostWeight = 1 << 48
	// foreignHead bytes tell text from a profile of pprof.
	foreignHead = 4096
)

// readForeign reads a profile that is no recording.
func (p *profiles) readForeign(ctx context.Context, in *input) error {
	p.foreign = true
	file, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, foreignHead)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read the profile: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	switch {
	case isUTF16(head[:n]):
		err = p.readCollapsed(ctx, transform.NewReader(file, unicode.BOMOverride(transform.Nop)))
	case isText(head[:n]):
		err = p.readCollapsed(ctx, file)
	default:
		err = p.readPprof(file)
	}
	if err == nil {
		err = in.cut
	}
	return err
}

// isUTF16 reports whether a file begins with the mark of UTF-16, as PowerShell writes what a command prints.
func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

// isText reports whether the first bytes of a file are text, in which the last character may be cut off.
func isText(head []byte) bool {
	for cut := range utf8.UTFMax {
		if len(head) > cut && utf8.Valid(head[:len(head)-cut]) {
			head = head[:len(head)-cut]
			break
		}
	}
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }
	return utf8.Valid(head) && !bytes.ContainsFunc(head, control)
}

// timeless returns the profile of a type of samples that have no times.
func (p *profiles) timeless(event string) *profile {
	if p.of[event] == nil {
		p.of[event] = newProfile(p.seed)
		p.of[event].timeless = true
	}
	return p.of[event]
}

// addTimeless takes n samples with a stack, innermost frame first.
func (p *profile) addTimeless(s *recording.Stack, n uint64) {
	p.lacking.Samples += n
	switch {
	case len(s.Frames) == 0:
		p.lacking.Empty += n
		return
	case s.Truncated:
		p.lacking.Truncated += n
		return
	}
	p.usable += n
	for _, c := range p.countersOf(s) {
		c.total += n
	}
	clear(p.counters) // each stack comes once
}

// foreignMethods are the methods of a profile by their names.
type foreignMethods map[string]*recording.Method

// mostForeign methods are kept, mostName is the size of the longest name of one, in bytes.
const (
	mostForeign = 1 << 17
	mostName    = 2048
)

func (f foreignMethods) of(text string) *recording.Method {
	text = text[:min(len(text), mostName)]
	m := f[text]
	if m == nil {
		m = foreignMethod(text)
		if len(f) < mostForeign {
			f[strings.Clone(text)] = m
		}
	}
	return m
}

var (
	// kindSuffix is how async-profiler marks frames by their kind, and the line before it.
	kindSuffix = regexp.MustCompile(`(:-?\d+)?_\[[0-9a-z]\]$`)
	// slashed is a Java method whose class has its name in the JVM (JVMS 4.2.1).
	slashed = regexp.MustCompile(`^[^\s/:(]+(/[^\s/:(]+)+\.[^\s/]+$`)
	// threadFrame is the thread that async-profiler puts below a stack.
	threadFrame = regexp.MustCompile(`^\[.*tid=\d+\]$`)
)

// foreignMethod is the method that a frame's text names, as JFR would name it. Other tools write a/B.f, a.B::f and parameters.
func foreignMethod(text string) *recording.Method {
	name := kindSuffix.ReplaceAllString(strings.ToValidUTF8(text, "�"), "")
	if slashed.MatchString(name) {
		name = strings.ReplaceAll(name, "/", ".")
	}
	if class, method, is := strings.Cut(name, "::"); is && strings.Contains(class, ".") && !strings.Contains(method, "::") {
		name = class + "." + method
	}
	if open := strings.IndexByte(name, '('); open > 0 && strings.HasSuffix(name, ")") && strings.Contains(name[:open], ".") {
		name = name[:open]
	}
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 {
		return &recording.Method{Name: name}
	}
	return &recording.Method{Class: name[:dot], Name: name[dot+1:]}
}
