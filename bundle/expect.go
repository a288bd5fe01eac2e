package bundle

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"misstep/internal/hserr"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// ExpectOf says what repeats the finding: for a mismatch its check and kind and what else its signature says of the record, for
// a crash the function of the problematic frame or the failed assertion's source file, or the signal of a JVM that could write
// no error file, for a hang that the time runs out. Whatever shows the signature is a hit; what a signature reckons out of both
// stacks is left to `misstep replay`, so a hit may be another finding of the same check, kind and place.
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
	}
	return e
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
		name = file + ":" // the error file's head names no frame then
	}
	if name != "" {
		e.Contains = []string{name}
	}
}

// upcallFrame matches a record whose suspect ends at a method that the VM itself called.
const upcallFrame = `("method":"<clinit>","descriptor":"[^"]*"|"method":"loadClass","descriptor":"\(Ljava/lang/String;\)Ljava/lang/Class;"|` +
	`"className":"java\.lang\.invoke\.MethodHandleNatives","method":"(link(CallSite|DynamicConstant|Method|MethodHandleConstant)|findMethodHandleType)","descriptor":"[^"]*")` +
	`,"bci":-?[0-9]+\}\],"numFrames":-?[0-9]+\},"divergence"`

// deoptimisedCaller matches a record of a walk that was cut off at one.
const deoptimisedCaller = `"deoptimisedCaller":`

// seam matches a frame between a virtual thread and its carrier.
const seam = `"className":"(jdk\.internal\.vm\.(Continuation|ThreadContainers)|java\.lang\.(Base)?VirtualThread)"`

// virtualThread matches a record whose reference is a virtual thread's.
const virtualThread = seam + `,"method":"[^"]*","descriptor":"[^"]*","bci":-?[0-9]+\}\],"numFrames":-?[0-9]+\},"suspect"`

// place takes from the place of a mismatch what the agent's record must hold, in the words in which the agent writes it
// (agent/native/src/record.cpp). The example tells what its agent wrote: older ones knew no deoptimised caller.
func (e *Expect) place(p signature.Place, example *misstepv1.Outcome) {
	like := func(pattern string) {
		if pattern != "" {
			e.Like = append(e.Like, pattern)
		}
	}
	switch p.Kind {
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
		if slices.ContainsFunc(example.GetMismatches(), func(m *misstepv1.Mismatch) bool { return m.GetDeoptimisedCaller() != nil }) {
			like(deoptimisedCaller)
			e.Unlike = append(e.Unlike, upcallFrame)
			return
		}
		e.Unlike = append(e.Unlike, upcallFrame, virtualThread)
		return
	case signature.BottomFrame: // what is none of the three above
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

// plainName is a name that the agent writes as a signature does, but for the numbers and addresses of generated classes.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_$#<>/-]+(\.[A-Za-z0-9_$#<>/-]+)+$`)

// methodPattern is the extended regular expression for a frame of the method "a.B.c" of a signature, which has "$#" for the
// numbers in names, and leaves out how those of generated classes end and begin (signature/names.go). It is empty for what is
// no plain name.
func methodPattern(name string) string {
	if !plainName.MatchString(name) {
		return ""
	}
	dot := strings.LastIndexByte(name, '.')
	class, method := strings.TrimPrefix(name[:dot], "jdk.internal."), name[dot+1:]
	numbered := func(text string) string { return strings.ReplaceAll(shellPattern(text), `\$#`, `\$[0-9]+`) }
	return `"className":"[^"]*` + numbered(class) + `[^"]*","method":"` + numbered(method) + `"`
}

// Record gives the extended regular expressions that a line of the agent's mismatches.jsonl must match, and those that it must
// not, to be a hit.
func (e Expect) Record() (like, unlike []string) {
	like = append(like, `"check": ?"`+shellPattern(e.Check)+`"`, `"kind": ?"`+kindPattern(e.Check, e.MismatchKind)+`"`)
	for _, text := range e.Contains {
		like = append(like, shellPattern(text))
	}
	return append(like, e.Like...), e.Unlike
}

// recordedAs gives the kinds under which the agent may have recorded a mismatch whose signature has the kind: of a walk that
// goes wrong in two places a signature tells the upper one, the agent both at once.
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

// kindPattern is the extended regular expression for them.
func kindPattern(check, kind string) string {
	all := recordedAs(check, kind)
	if len(all) == 1 {
		return shellPattern(all[0])
	}
	return "(" + strings.Join(all, "|") + ")"
}

// ofTheRun begins what differs between runs in the name of a generated class: a number or an address.
var ofTheRun = regexp.MustCompile(`(\$\$|\$Proxy|Generated\w*Accessor|LambdaForm\$|[/+.]0x|/\d).*`)

// frameFunction takes the function out of an error file's "V  [libjvm.so+0x8a3f10]  frame::sender(RegisterMap*) const+0x10",
// else the library; of a Java frame class and method, without what differs between runs. It is empty for an address alone.
func frameFunction(line string) string {
	f := signature.ParseFrame(line)
	switch f.Kind {
	case signature.JavaFrame:
		name := strings.TrimPrefix(f.Class+"."+f.Method, ".")
		// A class in no package may differ, but nothing at all would be any crash.
		return cmp.Or(ofTheRun.ReplaceAllString(name, ""), name)
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
