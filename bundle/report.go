package bundle

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"misstep/bundle/standalone"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// maxCrashLog bounds what a report quotes of an hs_err file, in bytes: its header, and the stacks of the thread that crashed.
const maxCrashLog = 6000

//go:embed parts.md.tmpl
var partsText string

//go:embed readme.md.tmpl
var readmeText string

//go:embed jbs.md.tmpl
var jbsText string

var partsTemplate = template.Must(template.New("parts").Parse(partsText))

var (
	readmeTemplate = template.Must(template.Must(partsTemplate.Clone()).New(nameReadme).Parse(readmeText))
	jbsTemplate    = template.Must(template.Must(partsTemplate.Clone()).New(Report).Parse(jbsText))
)

// report is what README.md, for a reader who has never heard of Misstep, and jbs.md, a draft in the form of the JDK Bug System,
// show. Its strings are safe where the templates put them: in Markdown text, or inside code.
type report struct {
	Title, Finding, Known string
	Component, Expected   string
	FreshSeeds            bool
	JDKs                  []reportedJDK
	Builds                *affectedBuilds // nil when there was one build only
	Rate                  rate
	Needs                 *needs        // nil for a finding that is bundled as it was found
	Perturbation          *perturbation // nil when nothing was perturbed
	Observed              observed
	Beside                *beside // nil when the bundle is complete
	Flags                 string
	Profiler              string // with its interval and options; empty for none
	CrashLog              string
	Unseen                []unseen
	Recording             bool
	Recorded              bool // in a profiler's recording, which run.sh does not judge
	RecordingQemu         string
	// Program is the main class and the arguments of one that is not in the bundle; empty where it is.
	Program string
	// Unserved is why there is no standalone test; empty when there is one.
	Unserved string
}

// beside is what must be put next to the unpacked bundle.
type beside struct {
	Files    int
	Bytes    int64
	Workload string
}

func newBeside(c *Contents, shared []File) *beside {
	if len(shared) == 0 {
		return nil
	}
	b := &beside{Files: len(shared), Workload: markdown(workloadText(c.Reproducer, sourceText(c)))}
	for _, f := range shared {
		b.Bytes += f.Size
	}
	return b
}

type reportedJDK struct{ Version, Digest string }

// unseen is a combination that was tried often enough to say something and never showed the finding.
type unseen struct {
	JDK, Workload, FlagSet string
	Trials                 uint64
	High                   string // end of the 95 % interval
}

func newReport(c *Contents, shared []File, unserved *standalone.UnservedError, crashLog []byte) report {
	r, f := c.Reproducer, c.Reproducer.GetFinding()
	data := report{
		Title: markdown(f.GetTitle()), Finding: f.GetId(), Known: markdown(misstepv1.KnownText(f)),
		Component: component(c.Expect), Expected: expected(c.Expect), FreshSeeds: FreshSeeds(r), JDKs: reportedJDKs(r),
		Builds: newAffectedBuilds(
			r,
		), Rate: newRate(r), Needs: newNeeds(r), Perturbation: newPerturbation(c), Observed: newObserved(c),
		Flags: strings.Join(r.GetRecipe().GetJvmFlags(), " "), CrashLog: strings.ReplaceAll(string(crashLog), "```", "'''"),
		Beside: newBeside(
			c,
			shared,
		), Unseen: newUnseen(f), Recording: len(r.GetRecording()) > 0, RecordingQemu: r.GetRecordingQemu(),
	}
	data.Recorded = c.Expect.Recorded()
	data.Program = code(strings.Join(c.Command.program(), " "))
	if p := r.GetRecipe().GetProfiler(); recipe.HasProfiler(p) {
		data.Profiler = code(recipe.ProfilerText(p))
	}
	if unserved != nil {
		data.Unserved = markdown(unserved.Why)
	}
	return data
}

// text executes one of the report's templates.
func (r report) text(t *template.Template) ([]byte, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	return b.Bytes(), nil
}

func reportedJDKs(r *misstepv1.Reproducer) []reportedJDK {
	var all []reportedJDK
	for _, j := range append([]*misstepv1.Jdk{r.GetRecipe().GetJdk()}, r.GetOtherJdks()...) {
		all = append(all, reportedJDK{Version: markdown(nameOf(j)), Digest: code(j.GetDigest())})
	}
	return all
}

// nameOf is what people know a JDK by: its version, or its name in the catalogue when that is not known.
func nameOf(j *misstepv1.Jdk) string { return cmp.Or(j.GetVersion(), j.GetName()) }

// newUnseen claims no workaround: whether these combinations can be lived with is for people to say.
func newUnseen(f *misstepv1.Finding) []unseen {
	const enough = 5 // trials
	var all []unseen
	for _, r := range f.GetRates() {
		if r.GetHits() == 0 && r.GetTrials() >= enough {
			all = append(all, unseen{
				JDK: markdown(
					r.GetJdk(),
				), Workload: markdown(r.GetWorkload()), FlagSet: markdown(r.GetFlagSet()), Trials: r.GetTrials(),
				High: percent(r.GetHigh()),
			})
		}
	}
	return all
}

// component: AsyncGetCallTrace is hotspot/svc's (as JDK-8303444 was filed), a crash of the VM is left for triage there. What
// async-profiler's own walkers get wrong is no bug of the JDK.
func component(e Expect) string {
	if e.Kind == signature.KindFailure {
		return "none of the JDK unless the program is correct: report it to the program's authors"
	}
	check, _ := recipe.FindCheck(e.Check)
	switch check.Suspect {
	case recipe.WalkerGst:
		return "hotspot / jvmti"
	case recipe.SamplerJFR:
		return "hotspot / jfr"
	case recipe.SamplerAsync:
		return "none of the JDK: report it to async-profiler"
	}
	return "hotspot / svc"
}

func expected(e Expect) string {
	switch e.Kind {
	case "failure":
		return "the program computes the right result."
	case "crash":
		return "the JVM does not crash while stacks are walked."
	case "hang":
		return "the JVM makes progress while stacks are walked."
	}
	if check, ok := recipe.FindCheck(e.Check); ok {
		return check.Expected
	}
	return "every walk of a stack gives the frames that were entered and not left, or an error code."
}

var escaper = strings.NewReplacer(
	"\\",
	"\\\\",
	"<",
	"\\<",
	">",
	"\\>",
	"*",
	"\\*",
	"_",
	"\\_",
	"`",
	"\\`",
	"[",
	"\\[",
	"|",
	"\\|",
	"\n",
	" ",
	"\r",
	" ",
)

// markdown makes text from a trial show as it is: class names have <, _ and the like.
func markdown(text string) string { return escaper.Replace(text) }

// code makes text safe inside a code block.
func code(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'")
}

// percent gives a share of 1 with one decimal.
func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
