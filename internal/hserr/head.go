package hserr

import (
	"cmp"
	"strconv"
	"strings"
)

// comment reads a line of the head, without its number sign.
func (p *parser) comment(text string) {
	switch {
	case headFirst.MatchString(text):
		p.fatal, p.state = true, inHead
	case strings.HasPrefix(text, "There is insufficient memory for the Java Runtime Environment to continue"):
		p.fatal, p.state = true, inHead
		p.native, p.report.OutOfMemory = true, true
	case errorLine.MatchString(text) && len(p.message) == 0 && p.state == inNothing:
		p.state = inHead // the opening line was not copied
		p.headLine(text)
	case text == "Problematic frame:":
		p.state = inFrame
	case p.state == inFrame:
		p.state = inNothing
		if p.report.Crash.GetProblematicFrame() == "" {
			p.report.Crash.ProblematicFrame = text
		}
	case strings.HasPrefix(text, "JRE version:"):
		p.state = inNothing
		p.report.JRE = cmp.Or(p.report.JRE, strings.TrimSpace(strings.TrimPrefix(text, "JRE version:")))
	case strings.HasPrefix(text, "Java VM: ") && p.report.Crash.GetVmBuild() == "":
		p.report.Crash.VmBuild = build(strings.TrimPrefix(text, "Java VM: "))
	case p.state == inHead && text != "":
		p.headLine(text)
	}
}

// headLine reads a line of the head between the first one and "JRE version:". HotSpot's advice about memory is left out.
func (p *parser) headLine(text string) {
	if strings.HasPrefix(text, "Possible reasons:") {
		p.advice = true
	}
	if m := headError.FindString(text); m != "" {
		p.advice = false
	}
	if strings.HasPrefix(text, "fatal error: OutOfMemory encountered:") {
		p.report.OutOfMemory = true
	}
	if !p.advice && len(p.message) < 8 {
		p.message = append(p.message, text)
	}
	if m := headTID.FindStringSubmatch(text); m != nil && p.report.TID == 0 {
		if tid, err := strconv.ParseInt(m[1], 0, 64); err == nil && tid > 0 && tid < 1<<32 {
			p.report.TID = tid // above that it is pthread_self(), as JDK 8 prints it
		}
	}
}

// finish derives the error and its detail from the head's lines.
func (p *parser) finish() {
	crash := p.report.Crash
	if !p.ended.native && len(crash.NativeFrames) < maxFrames {
		crash.NativeFrames = append(crash.NativeFrames, MoreFrames)
	}
	if !p.ended.java && len(crash.JavaFrames) < maxFrames {
		crash.JavaFrames = append(crash.JavaFrames, MoreFrames)
	}
	if len(p.message) == 0 {
		switch crash.Error = siginfoName.FindString(p.siginfo); {
		case crash.Error != "":
			crash.Detail = p.siginfo
		case strings.Contains(p.siginfo, "ExceptionCode=0xc0000005"): // 8 on Windows
			crash.Error, crash.Detail = "EXCEPTION_ACCESS_VIOLATION", p.siginfo
		}
		return
	}
	first := p.message[0]
	switch m := headSignal.FindString(first); {
	case m != "":
		crash.Error = m
	case p.native:
		crash.Error = "Out of Memory Error"
	default:
		crash.Error, _, _ = strings.Cut(headVaries.ReplaceAllString(first, ""), " (")
	}
	lines := make([]string, 0, len(p.message)+1)
	for _, l := range p.message {
		if l = strings.TrimSpace(headVaries.ReplaceAllString(l, "")); l != "" {
			lines = append(lines, l)
		}
	}
	if p.siginfo != "" {
		lines = append(lines, p.siginfo)
	}
	crash.Detail = strings.Join(lines, "; ")
}
