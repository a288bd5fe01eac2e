package hserr

import (
	"regexp"
	"slices"
	"strings"
)

// What people paste of an error file lacks its opening line, its headings or all but the frames. It is recognised by what is there;
// what is missing is unknown.

var (
	// errorLine matches the head's line about the error, with which a part may begin.
	errorLine = regexp.MustCompile(`^(?:(?:SIG[A-Z0-9]+|EXCEPTION_[A-Z_]+) \(0x[0-9a-f]+\) at pc=|` +
		`(?:Internal|Out of Memory) Error \([^()]*:\d+\), pid=)`)
	// strictFrame matches frames that are nothing else, whatever they stand in.
	strictFrame = regexp.MustCompile(`^(?:[VC] +\[[^\[\]]+\+0x[0-9a-f]+\]|J \d+%? |j  [\w.$/<>]+\(|v  ~)`)
	// siginfoName matches the signal in the details of a thread, of a part without the head's line about it.
	siginfoName = regexp.MustCompile(`\b(SIG[A-Z0-9]+|EXCEPTION_[A-Z_]+)\b`)
)

// recognised reports whether the text was an error file or a part of one that identifies a crash.
func (p *parser) recognised() bool {
	c := p.report.Crash
	return p.fatal || len(p.message) > 0 || slices.ContainsFunc(c.GetNativeFrames(), strictFrame.MatchString) ||
		strictFrame.MatchString(c.GetProblematicFrame()) || len(c.GetJavaFrames()) > 0 && c.GetThread() != ""
}

// pastedFrame adds a frame of a stack without its heading and reports whether the line is one.
func (p *parser) pastedFrame(line string) bool {
	line = strings.TrimSpace(line)
	c := p.report.Crash
	if p.state != inNothing && p.state != inHead || p.ended.native || len(c.GetNativeFrames()) > 0 && !p.pasted ||
		len(c.GetNativeFrames()) >= maxFrames || !strictFrame.MatchString(line) {
		return false
	}
	p.state, p.pasted = inNothing, true
	c.NativeFrames = append(c.NativeFrames, line)
	return true
}
