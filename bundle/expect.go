package bundle

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"misstep/internal/hserr"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// ExpectOf returns what reproduces the finding: for a mismatch its check and kind and what else its signature requires of the
// record; for a crash the function of the problematic frame, the source file of the failed assertion, or the signal of a JVM that
// could not write an error file; for a hang that the time runs out; for a failure the exit code and
// what the program reported, without values. Everything with the signature is a hit. Properties that a
// signature computes from both stacks are left to `misstep replay`, so a hit may be another finding of the same check, kind and
// place.
func ExpectOf(f *misstepv1.Finding) Expect {
	e := Expect{Kind: f.GetSignature().GetKind()}
	switch e.Kind {
	case signature.KindMismatch:
		if s, err := signature.Read(f.GetSignature()); err == nil {
			m := s.(signature.Mismatch)
			e.Check, e.MismatchKind = m.Check, m.Difference
			e.place(m.Place, f.GetExample())
		}
	case signature.KindCrash:
		e.crash(f.GetExample())
	case signature.KindFailure:
		e.failure(f)
	}
	return e
}

// Recorded reports whether the finding is in a profiler's recording, which Misstep's judges read after the trial: run.sh cannot
// tell whether a try shows it.
func (e Expect) Recorded() bool {
	known, ok := recipe.FindCheck(e.Check)
	return e.Kind == signature.KindMismatch && ok && known.Slot == recipe.NoSlot
}

func (e *Expect) crash(example *misstepv1.Outcome) {
	crash := example.GetCrash()
	if crash.GetDetail() == hserr.Unwritten {
		name, _, _ := strings.Cut(crash.GetError(), " ")
		if e.Signal = int(unix.SignalNum(name)); e.Signal != 0 {
			return
		}
	}
	name := frameFunction(crash.GetProblematicFrame())
	if file := signature.AssertionFile(crash.GetDetail()); file != "" && strings.HasPrefix(crash.GetError(), "Internal Error") {
		name = file + ":" // then the head of the error file names no frame
	}
	if name != "" {
		e.Contains = []string{name}
	}
}

// valueRE matches what replaces a value in the message of a failure's signature.
var valueRE = regexp.MustCompile(`\b(NUM|ADDR|VALUE|UUID)\b`)

func (e *Expect) failure(f *misstepv1.Finding) {
	shown := f.GetExample().GetApplicationFailure()
	e.ExitCode = int(f.GetExample().GetExitCode())
	s, err := signature.Read(f.GetSignature())
	if err != nil || shown.GetReason() == "exit-code" { // whose words are Misstep's
		return
	}
	for _, words := range valueRE.Split(s.(signature.Failure).Message, -1) {
		words = strings.TrimSpace(words)
		if strings.Contains(shown.GetMessage(), words) && strings.ContainsFunc(words, unicode.IsLetter) {
			e.Contains = append(e.Contains, words)
		}
	}
}

// upcallFrame matches a record whose suspect ends at a method that the VM itself called.
const upcallFrame = `("method":"<clinit>","descriptor":"[^"]*"|` +
	`"method":"loadClass","descriptor":"\(Ljava/lang/String;\)Ljava/lang/Class;"|` +
	`"className":"java\.lang\.invoke\.MethodHandleNatives",` +
	`"method":"(link(CallSite|DynamicConstant|Method|MethodHandleConstant)|findMethodHandleType)","descriptor":"[^"]*")` +
	`,"bci":-?[0-9]+\}\],"numFrames":-?[0-9]+\},"divergence"`

// deoptimisedCaller matches a record of a walk that was cut off at a deoptimised caller.
const deoptimisedCaller = `"deoptimisedCaller":`

// seam matches a frame between a virtual thread and its carrier.
const seam = `"className":"(jdk\.internal\.vm\.(Continuation|ThreadContainers)|java\.lang\.(Base)?VirtualThread)"`

// virtualThread matches a record whose reference is a virtual thread's.
const virtualThread = seam + `,"method":"[^"]*","descriptor":"[^"]*","bci":-?[0-9]+\}\],"numFrames":-?[0-9]+\},"suspect"`

// place derives from the place of a mismatch what the agent's record must contain, as the agent writes it
// (agent/native/src/record.cpp). The example shows what its agent wrote: older agents did not record deoptimised callers.
func (e *Expect) place(p signature.Place, example *misstepv1.Outcome) {
	like := func(pattern string) {
		if pattern != "" {
			e.Like = append(e.Like, pattern)
		}
	}
	switch p.Kind {
	case signature.Recorded: // the agent writes no record of it
		e.Fault = p.Method
		return
	case signature.Upcall, signature.BelowUpcall:
		if p.Method == "<clinit>" {
			e.Contains = append(e.Contains, `"<clinit>"`)
		} else {
			like(`"method":"` + shellPattern(p.Method) + `"`)
		}
		return
	case signature.ExceptionUpcall:
		like(`"method":"<init>"`)
		return
	case signature.Continuation:
		like(seam)
		return
	case signature.DeoptimisedCaller:
		recorded := func(m *misstepv1.Mismatch) bool { return m.GetDeoptimisedCaller() != nil }
		if slices.ContainsFunc(example.GetMismatches(), recorded) {
			like(deoptimisedCaller)
			e.Unlike = append(e.Unlike, upcallFrame)
			return
		}
		e.Unlike = append(e.Unlike, upcallFrame, virtualThread)
		return
	case signature.BottomFrame: // none of the three above
		e.Unlike = append(e.Unlike, upcallFrame, virtualThread, deoptimisedCaller)
		return
	}
	if e.MismatchKind == "truncated" {
		e.Unlike = append(e.Unlike, deoptimisedCaller)
	}
	if p.Kind == signature.Code {
		like(`"numFrames":` + strconv.Itoa(p.Number) + `\},"divergence"`)
	}
	if p.State != "" && p.State != "unknown" {
		like(`"topState":"` + shellPattern(p.State) + `"`)
	}
	like(methodPattern(p.Method))
	like(methodPattern(p.Caller))
}

// plainName matches names that the agent writes as a signature does, except for the numbers and addresses of generated classes.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_$#<>/-]+(\.[A-Za-z0-9_$#<>/-]+)+$`)

// methodPattern returns the extended regular expression for a frame of the method "a.B.c" of a signature, which has "$#" for the
// numbers in names and omits the beginnings and ends of the names of generated classes (signature/names.go). It is empty for a name
// that is not plain.
func methodPattern(name string) string {
	if !plainName.MatchString(name) {
		return ""
	}
	dot := strings.LastIndexByte(name, '.')
	class, method := strings.TrimPrefix(name[:dot], "jdk.internal."), name[dot+1:]
	numbered := func(text string) string { return strings.ReplaceAll(shellPattern(text), `\$#`, `\$[0-9]+`) }
	return `"className":"[^"]*` + numbered(class) + `[^"]*","method":"` + numbered(method) + `"`
}

// Record returns the extended regular expressions that a line of the agent's mismatches.jsonl must match to be a hit, and those
// that it must not match.
func (e Expect) Record() (like, unlike []string) {
	like = append(like, `"check": ?"`+shellPattern(e.Check)+`"`, `"kind": ?"`+kindPattern(e.Check, e.MismatchKind)+`"`)
	for _, text := range e.Contains {
		like = append(like, shellPattern(text))
	}
	return append(like, e.Like...), e.Unlike
}

// recordedAs returns the kinds under which the agent may have recorded a mismatch whose signature has the kind: if a walk is wrong
// in two places, a signature describes the upper one, the agent's record both.
func recordedAs(check, kind string) []string {
	switch kind {
	case "missing", "extra", "wrong-method", "wrong-bci", "swapped", "foreign":
		if check == recipe.AsgctShadow { // whose reference has instrumented methods only
			return []string{"missing", "extra", "wrong-method", "wrong-bci", "foreign"}
		}
	}
	switch kind {
	case "missing":
		return []string{"missing", "foreign", "wrong-method"}
	case "extra", "wrong-method", "wrong-bci":
		return []string{kind, "foreign"}
	case "swapped":
		return []string{"foreign"}
	case "foreign":
		return []string{"foreign", "extra"}
	}
	return []string{kind}
}

// kindPattern returns the extended regular expression for the kinds that recordedAs returns.
func kindPattern(check, kind string) string {
	all := recordedAs(check, kind)
	if len(all) == 1 {
		return shellPattern(all[0])
	}
	return "(" + strings.Join(all, "|") + ")"
}

// runSpecific matches the part of the name of a generated class that differs between runs, from a number or an address on.
var runSpecific = regexp.MustCompile(`(\$\$|\$Proxy|Generated\w*Accessor|LambdaForm\$|[/+.]0x|/\d).*`)

// frameFunction returns the function of a frame in an error file such as
// "V  [libjvm.so+0x8a3f10]  frame::sender(RegisterMap*) const+0x10", or the library if there is none; for a Java frame the class
// and method, without what differs between runs. It is empty for an address alone.
func frameFunction(line string) string {
	f := signature.ParseFrame(line)
	switch f.Kind {
	case signature.JavaFrame:
		name := strings.TrimPrefix(f.Class+"."+f.Method, ".")
		// The name of a class in no package may differ between runs, but an empty string would match any crash.
		return cmp.Or(runSpecific.ReplaceAllString(name, ""), name)
	case signature.VMFrame, signature.CFrame, signature.StubFrame:
		function, _, _ := strings.Cut(f.Function, "(")
		function, _, _ = strings.Cut(function, " ")
		function, _, _ = strings.Cut(function, "+")
		if strings.HasPrefix(function, "0x") {
			function = ""
		}
		return cmp.Or(function, f.Library)
	}
	return ""
}
