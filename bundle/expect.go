package bundle

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"misstep/internal/hserr"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// ExpectOf says what repeats the finding: for a mismatch its check and kind and what else its signature says of the record, for a crash the function
// of the problematic frame or the failed assertion's source file, or the signal of a JVM that could write no error file, for a hang that the time
// runs out. Whatever shows the signature is a hit; what a signature reckons out of both stacks is left to `misstep replay`, so a hit may be
// another finding of the same check, kind and place.
func ExpectOf(f *misstepv1.Finding) Expect {
	e := Expect{Kind: f.GetSignature().GetKind()}
	parts := f.GetSignature().GetParts()
	switch e.Kind {
	case "mismatch":
		if len(parts) >= 2 {
			e.Check, e.MismatchKind = parts[0], parts[1]
		}
		if len(parts) >= 3 {
			e.place(parts[2], f.GetExample())
		}
	case "crash":
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
	if match := sourcePattern.FindStringSubmatch(crash.GetDetail()); match != nil && strings.HasPrefix(crash.GetError(), "Internal Error") {
		name = match[1] // the error file's head names no frame then
	}
	if name != "" {
		e.Contains = []string{name}
	}
}

// sourcePattern is the place of an assertion, "(/build/share/runtime/frame.cpp:123)"; the line moves with every update.
var sourcePattern = regexp.MustCompile(`\((?:[^()]*/)?([A-Za-z0-9_.]+\.[ch]pp:)\d+\)`)

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

// place takes from the third part of a mismatch's signature (coordinator/triage/edge.go, departure.go, mismatch.go) what the agent's record must
// hold, in the words in which the agent writes it (agent/native/src/record.cpp). The example tells what its agent wrote: older ones knew no
// deoptimised caller.
func (e *Expect) place(part string, example *misstepv1.Outcome) {
	like := func(pattern string) {
		if pattern != "" {
			e.Like = append(e.Like, pattern)
		}
	}
	if upcall, found := strings.CutPrefix(strings.TrimPrefix(part, "below "), "upcall "); found {
		switch upcall {
		case "<clinit>":
			e.Contains = append(e.Contains, `"<clinit>"`)
		case "exception": // the VM's construction of one
			like(`"method":"<init>"`)
		default:
			like(`"method":"` + shellPattern(upcall) + `"`)
		}
		return
	}
	switch part {
	case "continuation":
		like(seam)
		return
	case "deoptimised caller":
		if slices.ContainsFunc(example.GetMismatches(), func(m *misstepv1.Mismatch) bool { return m.GetDeoptimisedCaller() != nil }) {
			like(deoptimisedCaller)
			e.Unlike = append(e.Unlike, upcallFrame)
			return
		}
		e.Unlike = append(e.Unlike, upcallFrame, virtualThread)
		return
	case "bottom frame": // what is none of the three above
		e.Unlike = append(e.Unlike, upcallFrame, virtualThread, deoptimisedCaller)
		return
	}
	if e.MismatchKind == "truncated" {
		e.Unlike = append(e.Unlike, deoptimisedCaller)
	}
	if code, found := strings.CutPrefix(part, "code "); found {
		code, part, _ = strings.Cut(code, ", ")
		like(`"numFrames":` + shellPattern(code) + `\},"divergence"`)
	}
	if top, found := strings.CutPrefix(part, "top: "); found {
		if state, _, _ := strings.Cut(top, " "); state != "unknown" {
			like(`"topState":"` + shellPattern(state) + `"`)
		}
		return
	}
	for _, word := range []string{"native ", "below ", "after "} {
		part = strings.TrimPrefix(part, word)
	}
	callee, caller, _ := strings.Cut(part, " <- ")
	like(methodPattern(callee))
	like(methodPattern(caller))
}

// plainName is a name that the agent writes as a signature does, but for the numbers and addresses of generated classes.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_$#<>/-]+(\.[A-Za-z0-9_$#<>/-]+)+$`)

// methodPattern is the extended regular expression for a frame of the method "a.B.c" of a signature, which has "$#" for the numbers in names, and
// leaves out how those of generated classes end and begin (coordinator/triage/names.go). It is empty for what is no plain name.
func methodPattern(name string) string {
	if !plainName.MatchString(name) {
		return ""
	}
	dot := strings.LastIndexByte(name, '.')
	class, method := strings.TrimPrefix(name[:dot], "jdk.internal."), name[dot+1:]
	numbered := func(text string) string { return strings.ReplaceAll(shellPattern(text), `\$#`, `\$[0-9]+`) }
	return `"className":"[^"]*` + numbered(class) + `[^"]*","method":"` + numbered(method) + `"`
}

// Record gives the extended regular expressions that a line of the agent's mismatches.jsonl must match, and those that it must not, to be a hit.
func (e Expect) Record() (like, unlike []string) {
	like = append(like, `"check": ?"`+shellPattern(e.Check)+`"`, `"kind": ?"`+kindPattern(e.Check, e.MismatchKind)+`"`)
	for _, text := range e.Contains {
		like = append(like, shellPattern(text))
	}
	return append(like, e.Like...), e.Unlike
}

// recordedAs gives the kinds under which the agent may have recorded a mismatch whose signature has the kind: of a walk that goes wrong in two
// places a signature tells the upper one, the agent both at once.
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

var (
	framePattern = regexp.MustCompile(`^[VCJjv]\s+(?:\[([^\]+]+)[^\]]*\]\s*)?([^\s(+]*)`)
	// javaPattern is "J 1432% c1 a.B.c(I)V …", where number and tier may lack, and "j  a.B.c(I)V+1".
	javaPattern = regexp.MustCompile(`^[Jj]\s+(?:\d+%?\s+)?(?:(?:c1|c2|jvmci|C1|C2)\s+)?([^\s(]+)\(`)
	// ofTheRun begins what differs between runs in the name of a generated class: a number or an address.
	ofTheRun = regexp.MustCompile(`(\$\$|\$Proxy|Generated\w*Accessor|LambdaForm\$|[/+.]0x|/\d).*`)
)

// frameFunction takes the function out of hs_err's "V  [libjvm.so+0x8a3f10]  frame::sender(RegisterMap*) const+0x10", else the library; of a
// Java frame class and method, without what differs between runs. It is empty for an address alone.
func frameFunction(frame string) string {
	frame = strings.TrimPrefix(strings.TrimSpace(frame), "# ")
	if match := javaPattern.FindStringSubmatch(frame); match != nil {
		if name := ofTheRun.ReplaceAllString(match[1], ""); name != "" {
			return name
		}
		return match[1] // a class in no package may differ, but nothing at all would be any crash
	}
	match := framePattern.FindStringSubmatch(frame)
	if match == nil {
		return ""
	}
	if match[2] != "" && !strings.HasPrefix(match[2], "0x") {
		return match[2]
	}
	return match[1]
}
