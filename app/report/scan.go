package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	"misstep/internal/capped"
)

// Bounds of what is kept of an input.
const (
	maxSection = 32 << 20 // bytes of one report; an error file has at most 2 MiB, the dump of 10,000 threads 20 MiB
	maxJSON    = 64 << 20 // bytes of a dump in JSON, as internal/threaddump reads it
	maxLine    = 8 << 10  // bytes of one line
	maxVersion = 256      // bytes of the line with a JVM's version
)

// form is the form of a section.
type form int

const (
	unspecified form = iota
	errorFile        // hs_err
	printed          // a thread dump as jstack, jcmd PID Thread.print and SIGQUIT print it
	dumped           // a thread dump of jcmd PID Thread.dump_to_file, in JSON or as text
)

// section is one report within an input.
type section struct {
	form form
	// line at which it begins, from 1.
	line int
	text []byte
	// pid of the JVM, as jcmd writes it above a dump; empty if it is not there.
	pid string
}

// scanner finds the reports in an input, line by line.
type scanner struct {
	found func(section) error
	// named is called for the ids of bugs of the JDK in the input, each once.
	named func(id string)
	ids   map[string]bool
	// now is the section that is being read; its form is unspecified between sections.
	now section
	// prefix of the section's lines, nil for none.
	prefix *prefix
	// bare is true in an error file whose head lacks its number signs, since Markdown takes them for headings; head is true in
	// that head.
	bare, head bool
	// part is true in a section that may be none, since it was not begun by the first line of a report: any other ends it.
	part bool
	// recent are the last lines that were not empty, the newest first: what is written before what begins a dump, such as the JVM's
	// pid and version or a brace.
	recent [3][]byte
}

// scan calls found for each report in an input, in order, and ends at found's first error. It calls named for the ids of bugs of
// the JDK around them, the first maxNamed. It needs memory for the longest section. An error of reading is returned after the
// section that it cut off.
func scan(in *bufio.Reader, named func(id string), found func(section) error) error {
	s := &scanner{found: found, named: named, ids: map[string]bool{}}
	if head, _ := in.Peek(peeked); isJSON(head) {
		return s.whole(in)
	}
	return s.lines(in, 1)
}

// lines finds the sections in an input, whose first line has a number.
func (s *scanner) lines(in *bufio.Reader, number int) error {
	var buffer []byte
	for ; ; number++ {
		line, err := capped.ReadLine(in, buffer[:0], maxLine)
		buffer = line
		if len(line) > 0 || err == nil {
			if err := s.line(number, unlogged(line)); err != nil {
				return err
			}
		}
		if err != nil {
			if end := s.end(); end != nil {
				return end
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// peeked bytes decide whether an input is JSON.
const peeked = 4 << 10

// isJSON reports whether an input begins as a thread dump in JSON does (com.sun.management's HotSpotDiagnosticMXBean.dumpThreads).
func isJSON(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, jsonMark)
}

// whole takes the input for one section, but what follows its value, if anything does.
func (s *scanner) whole(in io.Reader) error {
	all, err := io.ReadAll(io.LimitReader(in, maxJSON+1)) // one byte more, so that its reader refuses it
	value := json.NewDecoder(bytes.NewReader(all))
	var rest []byte
	switch syntax := value.Decode(new(json.RawMessage)); {
	case len(all) > maxJSON:
	case syntax == nil:
		all, rest = all[:value.InputOffset()], all[value.InputOffset():]
	case !errors.Is(syntax, io.ErrUnexpectedEOF): // something else follows what is left of it
		return errors.Join(s.lines(bufio.NewReader(bytes.NewReader(all)), 1), err)
	}
	if end := s.found(section{form: dumped, line: 1, text: all}); end != nil {
		return end
	}
	if len(bytes.TrimSpace(rest)) == 0 {
		return err
	}
	return errors.Join(s.lines(bufio.NewReader(bytes.NewReader(rest)), 1+bytes.Count(all, []byte("\n"))), err)
}

var (
	// errorHeads begin an error file; the text in between differs by release (share/utilities/vmError.cpp).
	errorHeads = [][]byte{
		[]byte("error has been detected by "),
		[]byte("There is insufficient memory for the Java Runtime Environment to continue"),
	}
	errorEnd = []byte("END.")
	jsonEnd  = []byte("}")
	// dumpHead begins a thread dump (VM_PrintThreads, share/runtime/vmOperations.cpp): name and version of the VM follow.
	dumpHead   = []byte("Full thread dump ")
	dumpHeadRE = regexp.MustCompile(`^Full thread dump .*\(.*`)
	// threadRE matches the head of a printed thread, and what is before it.
	threadRE   = regexp.MustCompile(`^(.*?)".*" (?:#\d+ )?(?:\[\d+\] )?.*\btid=0x[0-9a-f]+`)
	threadMark = []byte(" tid=0x")
	// deadlockHead begins the JVM's own report of a deadlock, which is often all that is copied of a dump.
	deadlockHead = []byte("Found one Java-level deadlock:")
	// bareHeadRE matches an error file's first line without its number sign, and what is before it.
	bareHeadRE = regexp.MustCompile(`^(.*?)(?:(?:A fatal|An unexpected) error has been detected by (?:the )?\S.*:|` +
		`There is insufficient memory for the Java Runtime Environment to continue\.)\W*$`)
	// bareErrorRE matches the head's line about the error, and the problematic frame.
	bareErrorRE = regexp.MustCompile(`(?m)^# +(?:(?:SIG[A-Z]+|EXCEPTION_[A-Z_]+|Internal Error|Out of Memory Error|Native memory allocation)\b|` +
		`[VCJj] +\S+[+(])`)
	// bareEndRE matches the first line after the head.
	bareEndRE = regexp.MustCompile(`^(?:-----|Current thread|Native frames|Java frames|siginfo)`)
	frameMark = []byte("Problematic frame:")
	// plainRE matches the head of a thread that Thread.dump_to_file wrote as text, #22 "name" virtual, and what is before it.
	plainRE = regexp.MustCompile(`^(.*?)#\d+ ".*"(?: virtual)?(?: [A-Z_]+ \S+)?$`)
	// jsonMark begins the second line of its JSON, behind a brace.
	jsonMark = []byte(`"threadDump"`)
)

// maxNamed bounds the bugs that an input names.
const maxNamed = 8

var (
	bugMark = []byte("JDK-")
	bugRE   = regexp.MustCompile(`\bJDK-\d{7}\b`)
)

// bugs finds the ids of bugs in a line.
func (s *scanner) bugs(line []byte) {
	if len(s.ids) >= maxNamed || !bytes.Contains(line, bugMark) {
		return
	}
	for _, id := range bugRE.FindAllString(string(line), maxNamed) {
		if !s.ids[id] && len(s.ids) < maxNamed {
			s.ids[id] = true
			s.named(id)
		}
	}
}

func (s *scanner) line(number int, line []byte) error {
	s.bugs(line)
	if len(line) == 0 && s.now.form == unspecified {
		return nil
	}
	form, before, bare, part := s.start(line)
	if form != unspecified {
		if err := s.end(); err != nil {
			return err
		}
		s.now = section{form: form, line: number}
		s.bare, s.part = bare, part
		if s.head = s.bare; s.bare {
			before = bytes.TrimRight(before, " \t*")
		}
		s.prefix = newPrefix(before)
		if form == dumped {
			s.now.text = append(append(s.now.text, s.prefix.cut(s.recent[0])...), '\n')
		}
		s.now.pid = s.pid(form)
	}
	line = s.prefix.cut(line)
	if len(bytes.TrimSpace(line)) > 0 {
		oldest := append(s.recent[2][:0], line[:min(len(line), maxVersion)]...)
		s.recent = [3][]byte{oldest, s.recent[0], s.recent[1]}
	}
	if s.now.form == unspecified {
		return nil
	}
	if s.bare {
		line = s.sign(bytes.TrimLeft(line, " \t"))
	}
	if len(s.now.text)+len(line) < maxSection {
		s.now.text = append(append(s.now.text, line...), '\n')
	}
	if s.now.form == errorFile && bytes.Equal(line, errorEnd) || s.now.form == dumped && bytes.Equal(line, jsonEnd) {
		return s.end()
	}
	return nil
}

// start is begins, and returns as well whether the section is an error file without its number signs, and whether it is a part,
// which begins where no section is being read. What is no crash ends a part.
func (s *scanner) start(line []byte) (f form, before []byte, bare, part bool) {
	switch f, before = s.begins(line); {
	case f != unspecified:
		bare = f == errorFile && bareHeadRE.Match(line) && !bytes.Contains(line, []byte("#"))
	case s.now.form == unspecified || s.part:
		f, before, bare = beginsPart(line)
		if part = f == errorFile; part && s.part {
			return unspecified, nil, false, false
		}
	}
	return f, before, bare, part
}

// begins returns the form of the section that a line begins, and what is before its text in the line: a log's own prefix. A thread
// begins a section only where none is being read: a part of a dump was pasted without its head.
func (s *scanner) begins(line []byte) (f form, before []byte) {
	for _, head := range errorHeads {
		if before, _, found := bytes.Cut(line, head); found {
			if hash := bytes.LastIndexByte(before, '#'); hash >= 0 {
				return errorFile, before[:hash]
			}
		}
	}
	if at := bytes.Index(line, dumpHead); at >= 0 && dumpHeadRE.Match(line[at:]) {
		return printed, line[:at]
	}
	if s.now.form == unspecified || s.now.form == printed || s.part {
		if before, ok := s.beginsDumped(line); ok {
			return dumped, before
		}
	}
	if s.now.form != unspecified && !s.part {
		return unspecified, nil
	}
	if m := bareHeadRE.FindSubmatch(line); m != nil {
		return errorFile, m[1]
	}
	if before, _, found := bytes.Cut(line, deadlockHead); found {
		return printed, before
	}
	if bytes.Contains(line, threadMark) {
		if m := threadRE.FindSubmatch(line); m != nil {
			return printed, m[1]
		}
	}
	return unspecified, nil
}

// beginsDumped reports whether a line begins the threads that Thread.dump_to_file wrote, as text or as JSON, and what is before
// them in the line: the prefix of the section that is being read, or that of the line above, the JVM's version or a brace.
func (s *scanner) beginsDumped(line []byte) (before []byte, ok bool) {
	p := s.prefix
	if bytes.Contains(line, jsonMark) {
		brace, is := bytes.CutSuffix(bytes.TrimRight(s.recent[0], " \t"), []byte("{"))
		if p == nil {
			p = newPrefix(brace)
		}
		text := p.cut(line)
		return line[:len(line)-len(text)], is && bytes.HasPrefix(bytes.TrimLeft(text, " \t"), jsonMark)
	}
	if bytes.IndexByte(line, '#') < 0 {
		return nil, false
	}
	m := plainRE.FindSubmatch(line)
	if m == nil || len(p.cut(line)) == len(line)-len(m[1]) {
		return line[:len(line)-len(p.cut(line))], m != nil
	}
	p = newPrefix(m[1])
	if len(p.cut(s.recent[0])) == 0 { // a log's empty line
		s.recent = [3][]byte{s.recent[1], s.recent[2], s.recent[0]}
	}
	return m[1], s.prefix == nil && versionRE.Match(p.cut(s.recent[0]))
}

var (
	// answerRE matches the line with which jcmd begins what a JVM answers, firstRE the first one of Thread.dump_to_file's text.
	answerRE = regexp.MustCompile(`^(\d+):$`)
	firstRE  = regexp.MustCompile(`^(\d+)$`)
)

// pid returns the pid above the beginning of a dump: above its time, and in text of Thread.dump_to_file above its version as well.
func (s *scanner) pid(f form) string {
	re, above := answerRE, 1
	switch f {
	case errorFile:
		return ""
	case dumped:
		re, above = firstRE, 2
	}
	if m := re.FindSubmatch(s.prefix.cut(s.recent[above])); m != nil {
		return string(m[1])
	}
	return ""
}

// end ends the section.
func (s *scanner) end() error {
	now := s.now
	prose := s.bare && !bareErrorRE.Match(now.text) // the words of the head, but no error
	s.now, s.prefix, s.bare, s.head, s.part = section{}, nil, false, false, false
	if now.form == unspecified || prose {
		return nil
	}
	return s.found(now)
}

// sign returns a line of a bare error file with the number sign that it lacks. The head ends with the problematic frame.
func (s *scanner) sign(line []byte) []byte {
	switch {
	case !s.head:
		return line
	case bareEndRE.Match(line):
		s.head = false
		return line
	}
	s.head = !bytes.HasSuffix(bytes.TrimRight(s.now.text, "\n"), frameMark) || len(line) == 0
	return append([]byte("# "), bytes.Trim(line, "*")...)
}
