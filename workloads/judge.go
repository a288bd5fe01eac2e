package workloads

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	misstepv1 "misstep/proto/misstep/v1"
)

// Reasons of an application failure that Judge returns; the runner has others (output, disk).
const (
	reasonValidation = "validation" // the result is wrong or was not verified
	reasonException  = "exception"  // the program threw
	reasonExitCode   = "exit-code"  // it exited with another code
	reasonMemory     = "memory"     // it ran out of heap
	reasonStart      = "start"      // it was not started: bad flags, main class, jar, benchmark name
)

// maxMessage bounds a failure's message in bytes.
const maxMessage = 512

// Exit codes of the plain harness (workloads/harness).
const (
	exitVerified = 0
	exitThrown   = 1
	exitInvalid  = 3
)

// Judge interprets the end of a workload: nil if it verified its result, otherwise its failure. The caller has ruled out that the
// JVM crashed, hung or was killed. The tails are the last bytes of stdout and stderr; a few KiB suffice.
func (m Manifest) Judge(exit int, stdoutTail, stderrTail []byte) *misstepv1.ApplicationFailure {
	if exit != exitVerified && exit != m.ExitCode {
		if f := judgeJVM(stdoutTail, stderrTail); f != nil {
			return f
		}
	}
	switch {
	case m.Harness == HarnessRenaissance:
		return judgeRenaissance(exit, stdoutTail, stderrTail)
	case m.Harness != HarnessProgram:
		return m.judgePlain(exit, stdoutTail, stderrTail)
	case exit != m.ExitCode:
		return failure(reasonExitCode, "exit code %d, not %d%s", exit, m.ExitCode, lastWords(stderrTail))
	}
	return nil
}

// OwnFailure reports whether a program failed by what it did, rather than at a limit or before it started.
func OwnFailure(f *misstepv1.ApplicationFailure) bool {
	return slices.Contains([]string{reasonValidation, reasonException, reasonExitCode}, f.GetReason())
}

func (m Manifest) judgePlain(exit int, stdout, stderr []byte) *misstepv1.ApplicationFailure {
	quoted := regexp.QuoteMeta(m.Name)
	switch exit {
	case exitVerified:
		// HotSpot prints warnings to stdout as well, so the line need not be the last one.
		line := regexp.MustCompile(`misstep: ` + quoted + ` verified (\d+) repetitions`).FindSubmatch(stdout)
		if line == nil {
			return failure(reasonValidation, "exit 0, but stdout lacks the line \"misstep: %s verified N repetitions\"", m.Name)
		}
		if n, err := strconv.ParseUint(string(line[1]), 10, 32); err != nil || n == 0 {
			return failure(reasonValidation, "it verified %s repetitions", line[1])
		}
		return nil
	case exitInvalid:
		if line := regexp.MustCompile(`misstep: ` + quoted + ` validation failed: ([^\r\n]*)`).FindSubmatch(stderr); line != nil {
			return failure(reasonValidation, "%s", line[1])
		}
	case exitThrown:
		if why := exceptionLine(stderr); why != "" {
			return failure(reasonException, "%s", why)
		}
	}
	return failure(reasonExitCode, "exit code %d%s", exit, lastWords(stderr))
}

// Messages of the launcher and of HotSpot when a program did not reach main, and when the heap was exhausted: JDK's
// launcher.properties (java.launcher.*) and HotSpot's arguments.cpp; stable from 8 to 28.
var (
	startPattern = regexp.MustCompile(`(?m)^(?:Error: (?:Could not (?:find or load main class|create the Java Virtual Machine)|` +
		`Unable to (?:initialize main class|access jarfile)|` +
		`Invalid or corrupt jarfile|An unexpected error occurred while trying to open file|` +
		`Main method not found|A JNI error has occurred|A fatal exception has occurred|LinkageError occurred)|` +
		`Unrecognized VM option|Unrecognized option|no main manifest attribute|` +
		`Error occurred during initialization of [^\r\n]*\r?\n|.*UnsupportedClassVersionError)[^\r\n]*`)
	memoryPattern = regexp.MustCompile(`(?m)^(?:Terminating due to |Exception in thread "[^"\n]*" |Caused by: )?` +
		`java\.lang\.OutOfMemoryError[^\r\n]*`)
)

// judgeJVM recognises messages of the launcher and of HotSpot, for any harness. Both print to stdout or stderr, depending on
// version and flags.
func judgeJVM(stdout, stderr []byte) *misstepv1.ApplicationFailure {
	for _, tail := range [][]byte{stderr, stdout} {
		if line := startPattern.Find(tail); line != nil {
			return failure(reasonStart, "%s", line)
		}
		if line := memoryPattern.Find(tail); line != nil {
			return failure(reasonMemory, "%s", line)
		}
	}
	return nil
}

var exceptionPattern = regexp.MustCompile(`(?m)^(?:Exception in thread "[^"\n]*" )?` +
	`((?:[\pL_$][\pL\pN_$]*\.)+[\pL_$][\pL\pN_$]*(?:Exception|Error|Throwable|Failure)[\pL\pN_$]*(?::[^\r\n]*)?)\r?$`)

// exceptionLine returns the first line of the last printed stack trace, empty if there is none.
func exceptionLine(stderr []byte) string {
	all := exceptionPattern.FindAllSubmatch(stderr, -1)
	if len(all) == 0 {
		return ""
	}
	return string(all[len(all)-1][1])
}

// lastWords returns the last non-empty line, after a colon, for a failure without another explanation.
func lastWords(stderr []byte) string {
	trimmed := bytes.TrimSpace(stderr)
	if i := bytes.LastIndexByte(trimmed, '\n'); i >= 0 {
		trimmed = bytes.TrimSpace(trimmed[i+1:])
	}
	if len(trimmed) == 0 {
		return ""
	}
	return ": " + string(trimmed)
}

func failure(reason, format string, args ...any) *misstepv1.ApplicationFailure {
	return &misstepv1.ApplicationFailure{Reason: reason, Message: oneLine(fmt.Sprintf(format, args...), maxMessage)}
}
