package bundle

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// defaultWall bounds a try when the recipe does not.
const defaultWall = 10 * time.Minute

//go:embed run.sh.tmpl
var scriptText string

var scriptTemplate = template.Must(template.New(nameScript).Parse(scriptText))

// ExpectOf says what repeats the finding: for a mismatch its check and kind (and the class initialiser when that is the
// boundary), for a crash the function of the problematic frame, for a hang that the time runs out.
func ExpectOf(f *misstepv1.Finding) Expect {
	e := Expect{Kind: f.GetSignature().GetKind()}
	parts := f.GetSignature().GetParts()
	switch e.Kind {
	case "mismatch":
		if len(parts) >= 2 {
			e.Check, e.MismatchKind = parts[0], parts[1]
		}
		if len(parts) >= 3 && strings.Contains(parts[2], "<clinit>") {
			e.Contains = []string{`"<clinit>"`}
		}
	case "crash":
		if name := frameFunction(f.GetExample().GetCrash().GetProblematicFrame()); name != "" {
			e.Contains = []string{name}
		}
	}
	return e
}

// recordedAs gives the kinds under which the agent may have recorded a mismatch whose signature has the kind: of a walk that goes wrong in two
// places a signature tells the upper one, the agent both at once.
func recordedAs(kind string) []string {
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
func kindPattern(kind string) string {
	all := recordedAs(kind)
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
	ofTheRun = regexp.MustCompile(`(\$\$|\$Proxy|Accessor|LambdaForm\$|[/+.]0x|/\d).*`)
)

// frameFunction takes the function out of hs_err's "V  [libjvm.so+0x8a3f10]  frame::sender(RegisterMap*) const+0x10", else the library; of a
// Java frame class and method, without what differs between runs. It is empty for an address alone.
func frameFunction(frame string) string {
	frame = strings.TrimPrefix(strings.TrimSpace(frame), "# ")
	if match := javaPattern.FindStringSubmatch(frame); match != nil {
		return ofTheRun.ReplaceAllString(match[1], "")
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

type scriptData struct {
	Title, Finding, Kind, Check, MismatchKind string
	Contains                                  []string
	Agent, Instruments                        bool
	JVMFlags, Invocation                      []string
	AgentOptions                              string
	WallSeconds, MinFeature                   int
}

// planned tells whether run.sh perturbs.
func (c *Contents) planned() bool { return c.Command.AgentOptions != "" && len(c.Command.Plan) > 0 }

func script(c *Contents) ([]byte, error) {
	e := c.Expect
	switch {
	case e.Kind == "mismatch" && (e.Check == "" || e.MismatchKind == ""):
		return nil, fmt.Errorf("run.sh: a mismatch needs its check and kind, the signature has %q", c.Reproducer.GetFinding().GetSignature().GetParts())
	case e.Kind == "mismatch" && c.Command.AgentOptions == "":
		return nil, fmt.Errorf("run.sh: a mismatch needs the agent's options")
	case e.Kind == "crash", e.Kind == "hang", e.Kind == "mismatch":
	default:
		return nil, fmt.Errorf("run.sh: finding of kind %.40q: want mismatch, crash or hang", e.Kind)
	}
	options := c.Command.AgentOptions
	if options != "" && !strings.Contains(options, Out) {
		options = "out=" + Out + "," + options
	}
	if options != "" && len(c.Command.Only) > 0 {
		options += ",only=" + Dir + "/" + nameOnly
	}
	if c.planned() {
		options += ",perturb=" + Dir + "/" + namePlan
	}
	data := scriptData{
		Title: oneLine(c.Reproducer.GetFinding().GetTitle()), Finding: oneLine(c.Reproducer.GetFinding().GetId()), Kind: e.Kind,
		Check: shellPattern(e.Check), MismatchKind: kindPattern(e.MismatchKind),
		Agent: options != "", Instruments: options != "" && (c.Command.Instruments || c.planned()), AgentOptions: shellWord(options), WallSeconds: c.Command.wallSeconds(), MinFeature: c.Command.MinFeature,
	}
	for _, text := range e.Contains {
		data.Contains = append(data.Contains, shellWord(text))
	}
	for _, word := range c.Command.JVMFlags {
		data.JVMFlags = append(data.JVMFlags, shellWord(word))
	}
	for _, word := range c.Command.Invocation {
		data.Invocation = append(data.Invocation, shellWord(word))
	}
	var b bytes.Buffer
	if err := scriptTemplate.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

var placeholders = map[string]string{Dir: `"$here"`, Out: `"$out"`, Scratch: `"$scratch"`}

var placeholderPattern = regexp.MustCompile(`@(BUNDLE|OUT|SCRATCH)@`)

// shellWord quotes a word for bash, with the script's variables in place of placeholders.
func shellWord(word string) string {
	var b strings.Builder
	literal := func(s string) {
		if s != "" {
			b.WriteString("'" + strings.ReplaceAll(s, "'", `'\''`) + "'")
		}
	}
	end := 0
	for _, at := range placeholderPattern.FindAllStringIndex(word, -1) {
		literal(word[end:at[0]])
		b.WriteString(placeholders[word[at[0]:at[1]]])
		end = at[1]
	}
	literal(word[end:])
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// shellPattern makes a word of a JSON value safe inside an extended regular expression in single quotes.
func shellPattern(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), "'", ".")
}

// oneLine makes text safe in a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Relocate puts the placeholders Dir/workload and Scratch in place of the folders that a command line was composed for: the way to
// make a Command from one that runs here.
func Relocate(words []string, workload, scratch string) []string {
	relocated := make([]string, len(words))
	for i, word := range words {
		word = replaceFolder(word, workload, Dir+"/"+dirWorkload)
		relocated[i] = replaceFolder(word, scratch, Scratch)
	}
	return relocated
}

// replaceFolder replaces whole names only: /a/b in /a/b/c, not in /a/bc.
func replaceFolder(word, folder, with string) string {
	pattern := regexp.MustCompile(regexp.QuoteMeta(filepath.Clean(folder)) + `($|[/:;, ])`)
	return pattern.ReplaceAllString(word, strings.ReplaceAll(with, "$", "$$")+"${1}")
}
