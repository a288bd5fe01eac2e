package bundle

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"misstep/corpus/localdir"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// defaultWall bounds a try when the recipe has no bound.
const defaultWall = 10 * time.Minute

//go:embed run.sh.tmpl
var scriptText string

var scriptTemplate = template.Must(template.New(nameScript).Parse(scriptText))

type scriptData struct {
	Title, Finding, Kind    string
	Contains                []string // of a crash or a failure, quoted
	Signal                  int      // exit status in the shell of a JVM that wrote no error file
	Failed                  int      // exit code of a workload that failed
	Like, Unlike            []string // of a mismatch, quoted
	Seed                    int64    // of the recipe, to which a try's number is added
	FreshSeeds, FreshPlan   bool
	Agent, Instruments      bool
	Recorded                bool // in a profiler's recording, which the script does not read
	JVMFlags, Invocation    []string
	ProfilerFlags           []string
	AgentOptions            string
	WallSeconds, MinFeature int
	ExitCode                int
	Program                 string       // main class and arguments, quoted, of one that is not in the bundle; else empty
	Shared                  []sharedFile // of the workload, quoted
	Workload                string       // that they belong to, with its source, quoted
}

type sharedFile struct{ Path, Hex, Fanned string }

// FreshSeeds reports whether each try of a reproducer has its own seed, the recipe's plus the try's number, as when its rate was
// measured. If the bug needs the recipe's seed, or nothing was measured, each try has that one.
func FreshSeeds(r *misstepv1.Reproducer) bool {
	return r.GetReliability().GetTries() > 0 && !r.GetSeedMatters()
}

// seedOption is the seed among the agent's options.
var seedOption = regexp.MustCompile(`\bseed=[0-9]+`)

// planned reports whether run.sh perturbs.
func (c *Contents) planned() bool { return c.Command.AgentOptions != "" && len(c.Command.Plan) > 0 }

func script(c *Contents, shared []File) ([]byte, error) {
	e := c.Expect
	switch {
	case e.Kind == "mismatch" && (e.Check == "" || e.MismatchKind == ""):
		return nil, fmt.Errorf("run.sh: a mismatch needs its check and kind, the signature has %q",
			c.Reproducer.GetFinding().GetSignature().GetParts())
	case e.Recorded() && len(c.Command.ProfilerFlags) == 0:
		return nil, fmt.Errorf("run.sh: a mismatch of check %s needs the profiler's flags", e.Check)
	case e.Kind == "mismatch" && !e.Recorded() && c.Command.AgentOptions == "":
		return nil, fmt.Errorf("run.sh: a mismatch needs the agent's options")
	case slices.Contains(signature.Kinds, e.Kind):
	default:
		return nil, fmt.Errorf("run.sh: finding of kind %.40q: expected one of %s", e.Kind, strings.Join(signature.Kinds, ", "))
	}
	options, fresh, plan := c.Command.AgentOptions, FreshSeeds(c.Reproducer), Dir+"/"+namePlan
	freshPlan := fresh && c.Reproducer.GetRecipe().GetPerturbation().GetSeed() == 0 // otherwise the plan has its own
	if freshPlan {
		plan = Out + "/" + namePlan
	}
	if options != "" && !strings.Contains(options, Out) {
		options = "out=" + Out + "," + options
	}
	if options != "" && len(c.Command.Only) > 0 {
		options += ",only=" + Dir + "/" + nameOnly
	}
	if c.planned() {
		options += ",perturb=" + plan
	}
	data := scriptData{
		Title: oneLine(c.Reproducer.GetFinding().GetTitle()), Finding: oneLine(c.Reproducer.GetFinding().GetId()), Kind: e.Kind,
		Agent: options != "", Recorded: e.Recorded(), AgentOptions: shellWord(options),
		Instruments: options != "" && (c.Command.Instruments || c.planned()),
		WallSeconds: c.Command.wallSeconds(), MinFeature: c.Command.MinFeature,
		ExitCode: c.Command.ExitCode, Failed: e.ExitCode,
	}
	if program := c.Command.program(); program != nil {
		data.Program = shellWord(oneLine(strings.Join(program, " ")))
	}
	if fresh {
		data.AgentOptions = seedOption.ReplaceAllString(data.AgentOptions, `seed='"$$seed"'`)
		data.FreshSeeds, data.FreshPlan = options != "", c.planned() && freshPlan
		data.Seed = int64(c.Reproducer.GetRecipe().GetSeed()) // bash calculates with signed 64-bit integers
	}
	like, unlike := e.Record()
	for _, list := range []struct {
		to   *[]string
		from []string
	}{{&data.Contains, e.Contains}, {&data.Like, like}, {&data.Unlike, unlike}} {
		for _, text := range list.from {
			*list.to = append(*list.to, shellWord(text))
		}
	}
	if len(shared) > 0 {
		data.Workload = shellWord(workloadText(c.Reproducer, sourceText(c)))
	}
	for _, f := range shared {
		data.Shared = append(data.Shared, sharedFile{Path: shellWord(f.Path), Hex: f.Digest.Hex(), Fanned: localdir.Path(f.Digest)})
	}
	if e.Signal != 0 {
		data.Signal = 128 + e.Signal
	}
	for _, list := range []struct {
		to   *[]string
		from []string
	}{
		{&data.JVMFlags, c.Command.JVMFlags},
		{&data.ProfilerFlags, c.Command.ProfilerFlags},
		{&data.Invocation, c.Command.Invocation},
	} {
		for _, word := range list.from {
			*list.to = append(*list.to, shellWord(word))
		}
	}
	var b bytes.Buffer
	if err := scriptTemplate.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

var placeholders = map[string]string{Dir: `"$here"`, Out: `"$out"`, Scratch: `"$scratch"`, ClassPath: `"$classpath"`}

var placeholderPattern = regexp.MustCompile(`@(BUNDLE|OUT|SCRATCH|CLASSPATH)@`)

// shellWord quotes a word for bash and replaces placeholders by the script's variables.
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

// shellPattern quotes a word of a JSON value for an extended regular expression in single quotes.
func shellPattern(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), "'", ".")
}

// oneLine makes text safe in a comment: one line with single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Relocate replaces the folders that a command line was composed for by the placeholders Dir/workload and Scratch, to make a
// Command from one that runs here.
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
