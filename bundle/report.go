package bundle

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"misstep/bundle/standalone"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// maxCrashLog bounds what a report quotes of an hs_err file, in bytes: its header, and the stacks of the thread that crashed.
const maxCrashLog = 6000

// texts is what README.md and jbs.md are made of.
type texts struct {
	*Contents
	// unserved says why there is no standalone test; nil when there is one.
	unserved *standalone.UnservedError
	crashLog []byte
	shared   []File // beside the bundle
}

// beside says what must be put next to the unpacked bundle, as a sentence; it is empty when nothing must.
func (t texts) beside() string {
	if len(t.shared) == 0 {
		return ""
	}
	var bytes int64
	for _, f := range t.shared {
		bytes += f.Size
	}
	return fmt.Sprintf(" Put the folder `%s` that was written with the bundle next to the unpacked one: it holds %d file(s) (%d bytes) of workload %s.",
		SharedDir, len(t.shared), bytes, markdown(workloadText(t.Reproducer, sourceText(t.Contents))))
}

// readme is for a person who has never heard of Misstep.
func (t texts) readme() []byte {
	c := t.Contents
	var b bytes.Buffer
	r, f := c.Reproducer, c.Reproducer.GetFinding()
	fmt.Fprintf(&b, "# %s\n\n", markdown(f.GetTitle()))
	fmt.Fprintf(&b, "Finding %s of Misstep, a fuzzer for the stack walkers of JVMs.", f.GetId())
	if known := misstepv1.KnownText(f); known != "" {
		fmt.Fprintf(&b, " Known as **%s**.", markdown(known))
	}
	b.WriteString("\n\n## Repeat it\n\n```\n./run.sh /path/to/jdk\n```\n\n")
	if beside := t.beside(); beside != "" {
		b.WriteString(strings.TrimSpace(beside) + "\n\n")
	}
	b.WriteString("It needs bash, coreutils and the JDK; tries 10 times and says how often the bug showed (exit 0 reproduced, 1 not, 2 could not run). ")
	if FreshSeeds(r) {
		b.WriteString("Each try has a seed of its own, as when the rate was measured. ")
	}
	b.WriteString("`./run.sh -k -n 1 JDK` keeps the files of a try. `misstep replay` does the same with more checks. `sha256sum -c MANIFEST.sha256` verifies the files.\n\n")
	b.WriteString("## What is wrong\n\n" + wrong(c) + "\n")
	b.WriteString("## Where it was seen\n\n")
	jdkList(&b, r)
	if builds := affected(r); builds != "" {
		b.WriteString("\n" + builds)
	}
	fmt.Fprintf(&b, "\n## How often\n\n%s\n", rates(r))
	if elements := needs(r); elements != "" {
		b.WriteString("\n## What it needs\n\n" + elements)
	}
	b.WriteString(perturbed(c))
	b.WriteString("\n## What is in here\n\n")
	b.WriteString("| path | content |\n|---|---|\n")
	for _, row := range [][2]string{
		{nameScript, "repeats it"},
		{nameReport, "the same as a draft for a bug report"},
		{nameRecipe, "everything that decides the run: JDK, workload, flags, instrumentation, checks, seed"},
		{nameReproducer, "recipe, finding and measured reliability for programs"},
		{dirWorkload + "/", "the program that runs"},
		{dirAgent + "/", "Misstep's agent, which compares the walkers"},
		{dirEvidence + "/", "what was recorded when it was found"},
		{dirJtreg + "/", "the same as a jtreg test, which fails where the bug is: `jtreg -jdk:/path/to/jdk jtreg`"},
	} {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row[0], row[1])
	}
	if len(r.GetRecording()) > 0 {
		fmt.Fprintf(&b, "| `%s/` | a whole virtual machine that shows it, recorded: `misstep replay --recording` repeats it byte for byte with %s |\n", Recording,
			r.GetRecordingQemu())
	}
	if t.unserved == nil {
		fmt.Fprintf(&b, "| `%s/` | a test in Java and C++ without Misstep's agent: `%s/run.sh /path/to/jdk`, also for jtreg with `-nativepath` |\n", dirStandalone, dirStandalone)
	} else {
		fmt.Fprintf(&b, "\nThere is no test without Misstep's agent: %s.\n", markdown(t.unserved.Why))
	}
	return b.Bytes()
}

// perturbed tells what disturbed the order of threads when the finding was made, and what does when it is repeated.
func perturbed(c *Contents) string {
	p := c.Reproducer.GetRecipe().GetPerturbation()
	if !misstepv1.Disturbs(p.GetStrategy()) {
		return ""
	}
	seed := p.GetSeed()
	if seed == 0 {
		seed = c.Reproducer.GetRecipe().GetSeed()
	}
	var b strings.Builder
	by := "a scheduler in the kernel"
	if p.GetMechanism() == misstepv1.MechanismAgent {
		by = "the agent"
	}
	fmt.Fprintf(&b, "\nIt was found while %s perturbed the order of threads (strategy %s, seed %d).%s", by, markdown(p.GetStrategy()), seed, confined(p))
	if c.planned() {
		whose := "this seed"
		if FreshSeeds(c.Reproducer) && p.GetSeed() == 0 {
			whose = "the try's seed"
		}
		fmt.Fprintf(&b, " `%s` perturbs, too: the agent takes the same strategy's decisions from %s (`%s`) where a thread enters an instrumented method or waits for a monitor, "+
			"on any kernel and without root. `schedule.bin` in the agent's folder of a try (`-k`) holds what it did.", nameScript, whose, namePlan)
	} else {
		fmt.Fprintf(&b, " `%s` does not perturb: no agent is in its JVM.", nameScript)
	}
	if by != "the agent" {
		b.WriteString(" The kernel's scheduler also stops threads elsewhere, in the VM and in native code, and may hit where the script does not: " +
			"`sudo misstep replay BUNDLE` on Linux 7.2 or newer with sched_ext, `misstep replay BUNDLE --executor vm-deterministic` anywhere (qemu, no root).")
	}
	b.WriteString("\n")
	return b.String()
}

// confined tells which decisions of a perturbation count, when not all do.
func confined(p *misstepv1.Perturbation) string {
	var alone []string
	for _, name := range slices.Sorted(maps.Keys(p.GetParameters())) {
		if role, spares := strings.CutPrefix(name, misstepv1.PerturbSpare); spares && p.GetParameters()[name] != 0 {
			alone = append(alone, role)
		}
	}
	out := ""
	switch from, until := p.GetParameters()[misstepv1.PerturbFrom], p.GetParameters()[misstepv1.PerturbUntil]; {
	case until != 0:
		out = fmt.Sprintf(" Of each thread's own decisions those from %.0f to %.0f matter.", from, until-1)
	case from != 0:
		out = fmt.Sprintf(" Of each thread's own decisions those from %.0f on matter.", from)
	}
	if len(alone) > 0 {
		out += fmt.Sprintf(" Threads of these roles are left alone: %s.", markdown(strings.Join(alone, ", ")))
	}
	return out
}

// report is a draft in the form of the JDK Bug System.
func (t texts) report() []byte {
	c := t.Contents
	var b bytes.Buffer
	r, f := c.Reproducer, c.Reproducer.GetFinding()
	fmt.Fprintf(&b, "**Synopsis**: %s\n\n", markdown(f.GetTitle()))
	fmt.Fprintf(&b, "**Component**: hotspot / %s\n\n", component(c.Expect))
	b.WriteString("**Affects version(s)**:\n\n")
	jdkList(&b, r)
	if builds := affected(r); builds != "" {
		b.WriteString("\n" + builds)
	}
	if known := misstepv1.KnownText(f); known != "" {
		fmt.Fprintf(&b, "\n**Known as**: %s (compare before filing)\n", markdown(known))
	}
	b.WriteString("\n**Steps to reproduce**:\n\n1. Unpack the attached bundle." + t.beside() +
		"\n2. `./run.sh /path/to/jdk` (bash and coreutils; no installation)\n\n")
	b.WriteString("As a jtreg test: `jtreg -jdk:/path/to/jdk jtreg`.")
	if t.unserved == nil {
		b.WriteString(" With nothing of Misstep in the JVM, a C++ compiler given: `standalone/run.sh /path/to/jdk`.")
	}
	b.WriteString("\n\n")
	if flags := r.GetRecipe().GetJvmFlags(); len(flags) > 0 {
		fmt.Fprintf(&b, "JVM flags: `%s`\n\n", strings.Join(flags, " "))
	}
	fmt.Fprintf(&b, "**Expected**: %s\n\n", expected(c.Expect))
	b.WriteString("**Actual**:\n\n" + wrong(c) + "\n")
	fmt.Fprintf(&b, "**Frequency**: %s\n\n", rates(r))
	b.WriteString("**hs_err**: ")
	if len(t.crashLog) == 0 {
		b.WriteString("none\n\n")
	} else {
		fmt.Fprintf(&b, "its head; the whole file is in `%s/`\n\n```\n%s```\n\n", dirEvidence, strings.ReplaceAll(string(t.crashLog), "```", "'''"))
	}
	fmt.Fprintf(&b, "**Workaround**: %s\n", workaround(r.GetFinding()))
	return b.Bytes()
}

// workaround names the combinations that were tried often enough to say something and never showed the finding. It claims no more:
// whether they can be lived with is for people to say.
func workaround(f *misstepv1.Finding) string {
	const enough = 5 // trials
	var unseen []string
	for _, rate := range f.GetRates() {
		if rate.GetHits() == 0 && rate.GetTrials() >= enough {
			unseen = append(unseen, fmt.Sprintf("%s with the flags %s and %s (0 of %d trials, 95 %% interval up to %.1f %%)", markdown(rate.GetJdk()),
				markdown(rate.GetFlagSet()), markdown(rate.GetWorkload()), rate.GetTrials(), 100*rate.GetHigh()))
		}
	}
	if len(unseen) == 0 {
		return "none known."
	}
	return "none known; not seen on " + strings.Join(unseen, "; ") + "."
}

// component: AsyncGetCallTrace is hotspot/svc's (as JDK-8303444 was filed), a crash of the VM is left for triage there.
func component(e Expect) string {
	if check, ok := recipe.FindCheck(e.Check); ok && check.Suspect == recipe.WalkerGst {
		return "jvmti"
	}
	return "svc"
}

func expected(e Expect) string {
	switch e.Kind {
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

// walk says in which walk a crash was, by the flight record, empty for one outside.
func walk(c *misstepv1.Crash) string {
	if !c.GetInWalk() {
		return ""
	}
	return fmt.Sprintf("sample %d in phase %s, from pc %#x", c.GetSample(), c.GetPhase(), c.GetWalkPc())
}

// wrong tells what was observed.
func wrong(c *Contents) string {
	var b strings.Builder
	example := c.Reproducer.GetFinding().GetExample()
	switch c.Expect.Kind {
	case "crash":
		crash := example.GetCrash()
		fmt.Fprintf(&b, "The JVM died: %s\n\n```\n", markdown(crash.GetError()))
		for _, line := range [][2]string{{"problematic frame", crash.GetProblematicFrame()}, {"thread", crash.GetThread()}, {"walk", walk(crash)}, {"VM operation", crash.GetVmOperation()}, {"detail", crash.GetDetail()}} {
			if line[1] != "" {
				fmt.Fprintf(&b, "%s: %s\n", line[0], code(line[1]))
			}
		}
		lines(&b, "\nnative frames:", crash.GetNativeFrames())
		lines(&b, "\nJava frames:", crash.GetJavaFrames())
		b.WriteString("```\n")
	case "hang":
		hang := example.GetHang()
		fmt.Fprintf(&b, "The JVM made no progress (%s).\n\n```\n", markdown(hang.GetCause()))
		for _, t := range hang.GetThreads()[:min(len(hang.GetThreads()), maxRows)] {
			fmt.Fprintf(&b, "%s (%d) %s\n", code(t.GetName()), t.GetTid(), code(t.GetState()))
			lines(&b, "", t.GetNativeFrames())
			lines(&b, "", t.GetJavaFrames())
		}
		b.WriteString("```\n")
	default:
		m := chooseMismatch(example, c.Expect)
		if m == nil {
			return "The evidence holds no stacks.\n"
		}
		fmt.Fprintf(&b, "%s\n\nCheck `%s`, kind `%s`, thread `%s`. Top frame first; the marked lines differ.\n\n```\n%s```\n",
			kindText(m), m.GetCheck(), m.GetKind(), code(m.GetThread()), sideBySide(m.GetReference(), m.GetSuspect()))
		if len(m.GetCode()) > 0 {
			fmt.Fprintf(&b, "\npc %#x, code at pc: `% x`\n", m.GetPc(), m.GetCode())
		}
	}
	return b.String()
}

func lines(b *strings.Builder, title string, all []string) {
	if len(all) == 0 {
		return
	}
	if title != "" {
		b.WriteString(title + "\n")
	}
	for _, line := range all {
		b.WriteString("  " + code(line) + "\n")
	}
}

// chooseMismatch takes the record that fits what is expected and is shortest to read. An outcome may have left out the stacks of others.
func chooseMismatch(o *misstepv1.Outcome, e Expect) *misstepv1.Mismatch {
	var best *misstepv1.Mismatch
	length := func(m *misstepv1.Mismatch) int {
		return len(m.GetReference().GetFrames()) + len(m.GetSuspect().GetFrames())
	}
	fits := func(m *misstepv1.Mismatch) bool {
		not := e.Like
		if m.GetDeoptimisedCaller() != nil {
			not = e.Unlike
		}
		return m.GetCheck() == e.Check && slices.Contains(recordedAs(e.Check, e.MismatchKind), m.GetKind()) && mentions(m, e.Contains) && !slices.Contains(not, deoptimisedCaller)
	}
	for _, m := range o.GetMismatches() {
		if length(m) > 0 && fits(m) && (best == nil || length(m) < length(best)) {
			best = m
		}
	}
	return best
}

func mentions(m *misstepv1.Mismatch, texts []string) bool {
	for _, text := range texts {
		found := false
		for _, f := range append(m.GetReference().GetFrames()[:len(m.GetReference().GetFrames()):len(m.GetReference().GetFrames())], m.GetSuspect().GetFrames()...) {
			found = found || strings.Contains(f.GetClassName()+"."+f.GetMethod()+f.GetDescriptor_(), strings.Trim(text, `"`))
		}
		if !found {
			return false
		}
	}
	return true
}

func kindText(m *misstepv1.Mismatch) string {
	reference, suspect := len(m.GetReference().GetFrames()), len(m.GetSuspect().GetFrames())
	name := sourceNames[m.GetSuspect().GetSource()]
	switch m.GetKind() {
	case "truncated":
		text := fmt.Sprintf("%s lost the bottom of the stack, without an error code: it gave %d frames where there are %d.", name, suspect, reference)
		if f := m.GetDeoptimisedCaller(); f != nil {
			text += fmt.Sprintf(" It ended at the compiled code of `%s.%s`, which was deoptimised while it was calling: its return address on the stack is its deoptimisation entry.",
				code(f.GetClassName()), code(f.GetMethod()))
		}
		return text
	case "missing":
		return fmt.Sprintf("%s left frames out in the middle.", name)
	case "extra", "foreign":
		return fmt.Sprintf("%s gave frames that are not on the stack.", name)
	case "wrong-method":
		return fmt.Sprintf("%s named the wrong method.", name)
	case "impossible-edge":
		return fmt.Sprintf("%s gave a frame above one whose bytecode cannot have called it.", name)
	case "wrong-bci":
		return fmt.Sprintf("%s gave the wrong bytecode index.", name)
	default:
		return fmt.Sprintf("%s is not what %s says.", name, sourceNames[m.GetReference().GetSource()])
	}
}

func jdkList(b *bytes.Buffer, r *misstepv1.Reproducer) {
	for _, j := range append([]*misstepv1.Jdk{r.GetRecipe().GetJdk()}, r.GetOtherJdks()...) {
		fmt.Fprintf(b, "- %s", markdown(j.GetVersion()))
		if j.GetVersion() == "" {
			b.WriteString(markdown(j.GetName()))
		}
		if j.GetDigest() != "" {
			fmt.Fprintf(b, " — tree `%s`", code(j.GetDigest()))
		}
		b.WriteString("\n")
	}
}

// rates gives the measured reliability, else what the campaign's trials tell.
func rates(r *misstepv1.Reproducer) string {
	if m := r.GetReliability(); m.GetTries() > 0 {
		return fmt.Sprintf("%d of %d fresh runs (95 %% interval %.1f %% to %.1f %%)%s", m.GetHits(), m.GetTries(), 100*m.GetLow(), 100*m.GetHigh(), wait(uint64(m.GetHits()), uint64(m.GetTries()))) + clean(r)
	}
	var b strings.Builder
	var hits, trials uint64
	for _, rate := range r.GetFinding().GetRates() {
		hits, trials = hits+rate.GetHits(), trials+rate.GetTrials()
		fmt.Fprintf(&b, "- %s, %s, %s: %d of %d (95 %% interval %.1f %% to %.1f %%)\n", markdown(rate.GetJdk()), markdown(rate.GetWorkload()), markdown(rate.GetFlagSet()),
			rate.GetHits(), rate.GetTrials(), 100*rate.GetLow(), 100*rate.GetHigh())
	}
	if trials == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%d of %d trials of the campaign that found it%s\n\n%s", hits, trials, wait(hits, trials), strings.TrimSuffix(b.String(), "\n"))
}

func wait(hits, tries uint64) string {
	if hits == 0 {
		return "."
	}
	return fmt.Sprintf("; expect a hit within about %.0f run(s).", math.Ceil(float64(tries)/float64(hits)))
}

var escaper = strings.NewReplacer("\\", "\\\\", "<", "\\<", ">", "\\>", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "|", "\\|", "\n", " ", "\r", " ")

// markdown makes text from a trial show as it is: class names have <, _ and the like.
func markdown(text string) string { return escaper.Replace(text) }

// code makes text safe inside a code block.
func code(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'")
}
