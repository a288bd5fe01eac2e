// Package hserr reads the error file that a crashing HotSpot JVM leaves (hs_err_pidNNN.log).
//
// The layout is that of HotSpot's src/hotspot/share/utilities/vmError.cpp in JDK 8 to 28: a head of comment lines, then sections. A
// file may end anywhere, because HotSpot itself may crash or be killed while writing it. What is missing stays empty.
package hserr

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"misstep/internal/capped"
	misstepv1 "misstep/proto/misstep/v1"
)

// Bounds of what is read and stored.
const (
	maxBytes  = 8 << 20 // bytes of a file; real ones have 50 KiB to 2 MiB
	maxLine   = 4096    // bytes of one line
	maxFrames = 64
)

// ErrNotCrash means that the input is not an error file of HotSpot.
var ErrNotCrash = errors.New("not an error file of HotSpot")

// Unwritten is the detail of a crash without an error file.
const Unwritten = "the JVM died without writing an error file"

// NoOperation is the VM operation of a crash in a file that shows that none was executed.
const NoOperation = "none"

// MoreFrames ends a stack of which the file has only the beginning, as HotSpot itself writes where it leaves frames out.
const MoreFrames = "...<more frames>..."

// Report is the content of an error file.
type Report struct {
	// Crash for the outcome; in_walk and phase stay unset, as the file does not have them.
	Crash *misstepv1.Crash
	// TID is the kernel's id of the crashed thread, 0 if unknown.
	TID int64
	// OutOfMemory reports that native memory could not be allocated, or that the heap was full under -XX:+CrashOnOutOfMemoryError:
	// not a bug of the JVM but a matter of the machine, a limit or the program.
	OutOfMemory bool
	// JRE is the version of the runtime environment as the head gives it, which package known reads: "OpenJDK Runtime Environment
	// (11.0.17+8) (build 11.0.17+8)"; empty if the file ends before it.
	JRE string
	// Complete reports that HotSpot wrote the file to its end.
	Complete bool
}

// Parse reads an error file, at most 8 MiB of it. Its error wraps that of r, or ErrNotCrash.
func Parse(r io.Reader) (*Report, error) {
	p := &parser{report: &Report{Crash: &misstepv1.Crash{}}}
	in := bufio.NewReaderSize(io.LimitReader(r, maxBytes), 64<<10)
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			line = certain(line)
		}
		if line != "" || err == nil {
			p.line(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read error file: %w", err)
		}
	}
	if !p.recognised() {
		return nil, fmt.Errorf("read error file: %w: it lacks the line \"A fatal error has been detected\"", ErrNotCrash)
	}
	p.finish()
	return p.report, nil
}

// certain returns what is certain of a file's last line that does not end: any line may have been cut, and half a name is another.
func certain(line string) string {
	if wholeLine.MatchString(line) {
		return line
	}
	return cutHead.FindString(line)
}

// readLine returns the next line without its terminator, cut to maxLine bytes of valid UTF-8.
func readLine(in *bufio.Reader) (string, error) {
	line, err := capped.ReadLine(in, nil, maxLine)
	return strings.ToValidUTF8(string(line), "?"), err
}

// state of the parser: the list of lines in which it is.
type state int

const (
	inNothing state = iota
	inHead          // comment lines before the first blank comment line after the error
	inFrame         // the line after "Problematic frame:"
	inNative
	inJava
)

type parser struct {
	report  *Report
	state   state
	fatal   bool     // the opening line was read
	pasted  bool     // the native frames are those of a part without their heading
	message []string // lines of the head
	siginfo string
	native  bool // the file is about native memory
	advice  bool // the current line belongs to the head's advice about memory
	ended   struct{ native, java bool }
}

var (
	// headFirst is the first line of the head; early updates of JDK 6 have "unexpected".
	headFirst   = regexp.MustCompile(`^(?:A fatal|An unexpected) error has been detected by `)
	headSignal  = regexp.MustCompile(`^(SIG[A-Z0-9]+|EXCEPTION_[A-Z_]+) \(0x[0-9a-f]+\)`)
	headError   = regexp.MustCompile(`^(?:Internal Error|Out of Memory Error) `)
	headTID     = regexp.MustCompile(`\btid=(0x[0-9a-f]+|\d+)`)
	headVaries  = regexp.MustCompile(`,? ?\b(?:pid|tid)=(?:0x[0-9a-f]+|\d+)`)
	threadLine  = regexp.MustCompile(`^Current thread \((0x[0-9a-f]+)\):\s*(.*)$`)
	threadID    = regexp.MustCompile(`\bid=(\d+)`)
	stackSize   = regexp.MustCompile(`\(\d+K\)`)
	bracket     = regexp.MustCompile(`\[[^\[\]]*\]`)
	operation   = regexp.MustCompile(`^VM_Operation \(0x[0-9a-f]+\): (.*)$`)
	hazard      = regexp.MustCompile(`,?\s*\b_(?:nested_)?threads_hazard_ptr(?:_cnt)?=\w+`)
	requestedBy = regexp.MustCompile(`,? requested by thread 0x[0-9a-f]+`)
	// wholeLine matches a line that is whole although it does not end, cutHead what identifies the error in a line of the head.
	cutHead = regexp.MustCompile(`^#\s+(?:(?:SIG[A-Z0-9]+|EXCEPTION_[A-Z_]+) \(0x[0-9a-f]+\)|` +
		`SIG(?:SEGV|BUS|ILL|FPE|ABRT|TRAP|SYS)\b|Internal Error)`)
	wholeLine = regexp.MustCompile(`^END\.$|^elapsed time: .*\)$|\]\s+\S.*\+0x[0-9a-f]+$`)
	// afterStacks are what HotSpot writes after the stacks of the crashed thread, in some version.
	afterStacks = regexp.MustCompile(`^(?:siginfo:|Registers:|Register to memory mapping:|VM_Operation|Top of Stack:|` +
		`Instructions:|END\.|-----)`)
)

func (p *parser) line(line string) {
	crash := p.report.Crash
	line = strings.TrimLeft(line, " \t") // as JMH and loggers indent
	comment, isComment := strings.CutPrefix(line, "#")
	comment = strings.TrimSpace(comment)
	switch {
	case isComment:
		p.comment(comment)
		return
	case p.state == inNative || p.state == inJava:
		if isFrame(line) {
			frames := &crash.NativeFrames
			if p.state == inJava {
				frames = &crash.JavaFrames
			}
			if len(*frames) < maxFrames {
				*frames = append(*frames, strings.TrimSpace(line))
			}
			return
		}
	}
	if p.pastedFrame(line) {
		return
	}
	p.leave(line)
	if p.state != inHead && p.state != inFrame || strings.HasPrefix(line, "-----") {
		p.state = inNothing // but an error while the head is written puts its message between the head's lines
	}
	switch {
	case strings.HasPrefix(line, "Native frames:") && !p.ended.native:
		p.state, crash.NativeFrames, p.pasted = inNative, nil, false
	case strings.HasPrefix(line, "Java frames:") && !p.ended.java:
		p.state, crash.JavaFrames = inJava, nil
	case strings.HasPrefix(line, "Current thread") && crash.Thread == "":
		p.thread(line)
	case strings.HasPrefix(line, "VM_Operation") && crash.VmOperation == "":
		if m := operation.FindStringSubmatch(line); m != nil {
			crash.VmOperation = strings.TrimSpace(requestedBy.ReplaceAllString(m[1], ""))
		}
	case strings.HasPrefix(line, "-----") && strings.Contains(line, "P R O C E S S") && crash.VmOperation == "":
		crash.VmOperation = NoOperation // the line about it comes before this section
	case strings.HasPrefix(line, "siginfo:") && p.siginfo == "":
		p.siginfo = strings.TrimSpace(strings.TrimPrefix(line, "siginfo:"))
	case line == "END.",
		strings.HasPrefix(line, "elapsed time: ") && strings.HasSuffix(line, ")"): // the last line of JDK 8
		p.report.Complete = true
	}
}

// leave notes which stacks are known to their ends, when a line follows that is no frame. HotSpot reports in it that it crashed in
// writing a stack; that one is not known, unless it is written again.
func (p *parser) leave(line string) {
	failed := strings.HasPrefix(line, "[error occurred during error reporting") ||
		strings.HasPrefix(line, "[timeout occurred during error reporting")
	process := strings.HasPrefix(line, "-----") && strings.Contains(line, "P R O C E S S")
	switch crash := p.report.Crash; {
	case p.state == inNative:
		p.ended.native = !failed
	case p.state == inJava:
		p.ended.java = !failed
	case process:
		p.ended.native = p.ended.native || len(crash.GetNativeFrames()) == 0
		p.ended.java = p.ended.java || len(crash.GetJavaFrames()) == 0
	case p.ended.native && len(crash.GetJavaFrames()) == 0 && !strings.HasPrefix(line, "Java frames:"):
		p.ended.java = p.ended.java || afterStacks.MatchString(line)
	}
}

func isFrame(line string) bool {
	if len(line) < 3 || line[1] != ' ' {
		return false
	}
	return strings.IndexByte("VCjJvAa", line[0]) >= 0
}

// thread keeps the thread's name and state, but not its addresses and ids.
func (p *parser) thread(line string) {
	m := threadLine.FindStringSubmatch(line)
	if m == nil {
		p.report.Crash.Thread = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "Current thread"), " is "))
		return
	}
	if id := threadID.FindStringSubmatch(m[2]); id != nil {
		if tid, err := strconv.ParseInt(id[1], 10, 64); err == nil {
			p.report.TID = tid
		}
	}
	text := bracket.ReplaceAllStringFunc(m[2], func(inner string) string {
		state, _, _ := strings.Cut(strings.Trim(inner, "[]"), ",")
		if strings.HasPrefix(state, "_thread_") {
			return "[" + state + "]"
		}
		return ""
	})
	p.report.Crash.Thread = strings.Join(strings.Fields(hazard.ReplaceAllString(stackSize.ReplaceAllString(text, ""), "")), " ")
}
