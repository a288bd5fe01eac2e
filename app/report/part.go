package report

import (
	"bytes"
	"regexp"
)

// What begins a part of a report that was pasted without its beginning, and what is before it in the line.
var (
	// errorLineRE matches the line about the error in an error file's head; group 2 is its number sign.
	errorLineRE = regexp.MustCompile(`^(.*?)(# *)?(?:(?:SIG[A-Z]+|EXCEPTION_[A-Z_]+) \(0x[0-9a-f]+\) at pc=0x|` +
		`(?:Internal|Out of Memory) Error \([^()]*:\d+\), pid=\d)`)
	// partRE matches headings in an error file, and frames, by which it is recognised without its head.
	partRE = regexp.MustCompile(`^(.*?)(?:-+ +T H R E A D +-+|Current thread (?:\(0x[0-9a-f]+\):|is native thread)|` +
		`(?:Native|Java) frames: \(J=|Problematic frame:|# +(?:JRE version|Java VM): |[VC] +\[[^\[\]\s+]+\+0x[0-9a-f]+\]|` +
		`J \d+%? (?:[cC][12]|jvmci) \S+\(|j  [\w.$/<>]+\([^\s)]*\)\S*\+\d+)`)
	// agentRE matches the lines with which the serviceability agent (jhsdb jstack, jstack -F) begins a dump.
	agentRE = regexp.MustCompile(`^(.*?)(?:Attaching to (?:process ID|core|remote)|JVM version is |Deadlock Detection:|` +
		`Thread \d+: \(state = [A-Z_]+\)$)`)
	errorMarks = [][]byte{
		[]byte(" at pc=0x"), []byte(" Error ("), []byte("T H R E A D"), []byte("Current thread "), []byte(" frames: (J="),
		frameMark,
		[]byte("+0x"), []byte("JRE version: "), []byte("Java VM: "), []byte(" c1 "), []byte(" c2 "), []byte(" C1 "), []byte(" C2 "),
		[]byte("jvmci "), []byte("j  "),
	}
	agentMarks = [][]byte{[]byte("Attaching to "), []byte("JVM version is "), []byte("Deadlock Detection:"), []byte("(state = ")}
)

// beginsPart returns the form of the part that a line begins, what a log has before its text, and whether the text lacks the number
// sign that it has in an error file.
func beginsPart(line []byte) (f form, before []byte, bare bool) {
	if containsAny(line, errorMarks) {
		if m := errorLineRE.FindSubmatch(line); m != nil {
			return errorFile, indent(m[1]), m[2] == nil
		}
		if m := partRE.FindSubmatch(line); m != nil {
			bare = bytes.Contains(line, frameMark) && !bytes.Contains(m[1], []byte("#"))
			return errorFile, indent(bytes.TrimRight(m[1], "# ")), bare
		}
	}
	if containsAny(line, agentMarks) {
		if m := agentRE.FindSubmatch(line); m != nil {
			return printed, m[1], false
		}
	}
	return unspecified, nil, false
}

// indent returns what is before a part's first line if each line may have it; blanks of its own have not the same number
// everywhere.
func indent(before []byte) []byte {
	if len(bytes.TrimSpace(before)) == 0 {
		return nil
	}
	return before
}

func containsAny(line []byte, marks [][]byte) bool {
	for _, m := range marks {
		if bytes.Contains(line, m) {
			return true
		}
	}
	return false
}
