package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"misstep/app/compared"
	"misstep/app/executors"
	"misstep/app/station"
	"misstep/bundle"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// renderChecks prints the counts of checks by verdict.
func renderChecks(w io.Writer, checks []*misstepv1.CheckCount, signals *misstepv1.SignalCount) {
	var rows [][]string
	for _, c := range checks {
		rows = append(rows, []string{
			c.GetCheck(), fmt.Sprint(c.GetTotal()), fmt.Sprint(c.GetMatch()), counts(c.GetTolerated()), fmt.Sprint(c.GetMismatch()),
			counts(c.GetUnwalkable()), counts(c.GetVoid()),
		})
	}
	renderTable(w, []column{
		{title: "check"},
		{title: "total"},
		{title: "match"},
		{title: "tolerated", cut: 10},
		{title: "mismatch"},
		{title: "unwalkable", cut: 10},
		{title: "void", cut: 10},
	}, rows)
	if s := signals; s.GetSent() > 0 {
		fmt.Fprintf(w, "signals: %d sent, %d delivered, %d answered\n", s.GetSent(), s.GetDelivered(), s.GetAnswered())
	}
}

// renderOutcome prints one outcome as text, and of which walkers little is known unless the recipe is nil. knownAs labels
// mismatches that are known bugs; nil labels none.
func renderOutcome(w io.Writer, r *misstepv1.Recipe, o *misstepv1.Outcome, knownAs func(*misstepv1.Mismatch) string) {
	var rows []compared.Row
	if r != nil {
		rows = compared.OfOutcome(r.GetJdk().GetName(), r.GetProfiler(), o)
	}
	fmt.Fprintf(w, "outcome: %s", misstepv1.OutcomeName(o.GetKind()))
	if o.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN && len(compared.Doubts(rows)) > 0 {
		fmt.Fprint(w, " in what was compared, of the rest nothing is known")
	}
	if len(o.GetMismatches()) > 0 {
		fmt.Fprintf(w, " (%s)", mismatchSummary(o, knownAs))
	} else if o.GetReason() != "" {
		fmt.Fprintf(w, " (%s)", o.GetReason())
	}
	if f := o.GetApplicationFailure(); f != nil { // beside mismatches, not below their stacks
		fmt.Fprintf(w, "\nthe workload failed (%s): %s", f.GetReason(), f.GetMessage())
	}
	fmt.Fprintf(w, "\nwall %v, cpu %v, exit code %d", o.GetWall().AsDuration().Round(time.Millisecond),
		o.GetCpu().AsDuration().Round(time.Millisecond), o.GetExitCode())
	if o.GetSignal() != 0 {
		fmt.Fprintf(w, ", signal %d", o.GetSignal())
	}
	fmt.Fprintln(w)
	if len(o.GetChecks()) == 0 {
		fmt.Fprintln(w, "nothing was checked: the recipe has no checks, or the JVM ended before any (misstep checks lists them)")
	}
	renderChecks(w, o.GetChecks(), o.GetSignals())
	renderCompared(w, rows)
	renderDoubts(w, rows, "--json has the counts of all")
	if upTo := compared.UpTo(rows); upTo != "" && o.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN {
		fmt.Fprintln(w, upTo)
	}
	renderPerturbation(w, o.GetPerturbation())
	const maxShown = 5 // mismatches in full; the JSON form has all
	for i, m := range o.GetMismatches() {
		fmt.Fprintln(w)
		if i == maxShown {
			fmt.Fprintf(w, "and %d more records of mismatches; --json has all\n", len(o.GetMismatches())-maxShown)
			break
		}
		renderMismatch(w, m)
		if label := labelOf(m, knownAs); label != "" {
			fmt.Fprintf(w, "known as %s\n", label)
		}
	}
	if n := o.GetMismatchesLeftOut(); n > 0 {
		fmt.Fprintf(w, "\n%d further records of mismatches are in the evidence only (mismatches.jsonl)\n", n)
	}
	if n := o.GetSignaturesLeftOut(); n > 0 {
		fmt.Fprintf(w, "%d signatures are in none of the records here: the outcome had no room for them\n", n)
	}
	if c := o.GetCrash(); c != nil {
		fmt.Fprintf(w, "\ncrash: %s in %s\n", c.GetError(), c.GetProblematicFrame())
	}
	if h := o.GetHang(); h != nil {
		fmt.Fprintf(w, "\nhang: %s, %d threads seen\n", h.GetCause(), len(h.GetThreads()))
	}
}

// renderMismatch prints both stacks side by side, aligned by method, the first difference marked.
func renderMismatch(w io.Writer, m *misstepv1.Mismatch) {
	if f := m.GetRecordingFault(); f != nil {
		renderFault(w, m, f)
		return
	}
	fmt.Fprintf(w, "%s: %s on thread %q (%d times)\n", m.GetCheck(), m.GetKind(), m.GetThread(), max(m.GetCount(), 1))
	if f := m.GetDeoptimisedCaller(); f != nil {
		fmt.Fprintf(w, "deoptimised caller: %s.%s\n", f.GetClassName(), f.GetMethod())
	}
	renderTraces(w, besides(m))
	if len(m.GetStack()) == 0 {
		return
	}
	fmt.Fprintln(w, "words of the stack that point at code, from sp on (some are left over from calls that have returned)")
	const maxWords = 24 // the JSON form has all
	for _, word := range m.GetStack()[:min(len(m.GetStack()), maxWords)] {
		fmt.Fprintf(w, "  %+#x %s\n", int64(word.GetAt()-m.GetSp()), strconv.QuoteToGraphic(word.GetCode()))
	}
	if n := len(m.GetStack()) - maxWords; n > 0 {
		fmt.Fprintf(w, "  … and %d more; --json has all\n", n)
	}
}

// renderFault prints what is wrong in a recording by itself.
func renderFault(w io.Writer, m *misstepv1.Mismatch, f *misstepv1.RecordingFault) {
	fmt.Fprintf(w, "%s: %s (%d times)\n  %s\n", m.GetCheck(), m.GetKind(), max(m.GetCount(), 1), printable(signature.RecordedAt(f)))
	if f.GetDetail() != "" {
		fmt.Fprintf(w, "  %s\n", printable(f.GetDetail()))
	}
	first := fmt.Sprintf("chunk %d", f.GetChunk())
	if f.GetPosition() != 0 {
		first += fmt.Sprintf(", byte %d, id %d", f.GetPosition(), f.GetId())
	}
	fmt.Fprintf(w, "  first in %s\n", first)
}

// renderTraces prints marks and two traces at most as wide as the terminal. Long names of methods lose their beginning, which says
// least.
func renderTraces(w io.Writer, rows [][3]string) {
	const mark = 2
	width, _ := sizeOf(w)
	room := width - mark - 2*columnGap
	left, right := 0, 0
	for i := range rows {
		rows[i][1], rows[i][2] = printable(rows[i][1]), printable(rows[i][2])
		left, right = max(left, runewidth.StringWidth(rows[i][1])), max(right, runewidth.StringWidth(rows[i][2]))
	}
	left = min(left, max(room/2, room-right))
	right = min(right, room-left)
	for _, row := range rows {
		text := fmt.Sprintf("%-*s  %s  %s",
			mark, row[0], runewidth.FillRight(cutFront(row[1], left), left), cutFront(row[2], right))
		fmt.Fprintln(w, strings.TrimRight(text, " "))
	}
}

// cutFront shortens a string to a width from its beginning.
func cutFront(text string, width int) string {
	if over := runewidth.StringWidth(text) - width; over > 0 {
		return runewidth.TruncateLeft(text, over+1, "…")
	}
	return text
}

// besides returns marks and frames of both stacks of a mismatch, with their titles. An arrow marks the first row in which they
// differ; where the reference is a shadow, the first frame that the suspect lacks. Further rows have < and > for frames of one
// stack only, and ! for the same method at another place.
func besides(m *misstepv1.Mismatch) [][3]string {
	suspect := strings.TrimSpace(m.GetSuspect().GetSource() + " " + m.GetSuspect().GetSampler())
	rows := [][3]string{{
		"", fmt.Sprintf("%s (%d frames)", m.GetReference().GetSource(), m.GetReference().Depth()),
		fmt.Sprintf("%s (%d)", suspect, m.GetSuspect().GetNumFrames()),
	}}
	_, aligned := bundle.Rows(m.GetReference(), m.GetSuspect())
	parts := slices.IndexFunc(aligned, func(r bundle.Row) bool { return r.Mark != ' ' })
	if m.GetReference().GetSource() == "shadow" { // it has no frames of methods that are not instrumented
		lacking := slices.IndexFunc(aligned, func(r bundle.Row) bool { return r.Mark == '<' })
		if lacking >= 0 {
			parts = lacking
		}
	}
	for i, r := range aligned {
		mark := strings.TrimSpace(string(r.Mark))
		if i == parts {
			mark = "=>"
		}
		rows = append(rows, [3]string{mark, orDash(r.Left), orDash(r.Right)})
	}
	return rows
}

// renderCampaign prints how far a campaign has come.
func renderCampaign(w io.Writer, s *misstepv1.CampaignStatus) {
	fmt.Fprintf(w, "campaign %s (%s): %s\n", s.GetCampaign().GetName(), s.GetId(), stateName(s.GetState()))
	if s.GetOwner() != "" && s.GetOwner() != access.LocalName {
		fmt.Fprintf(w, "of %s\n", s.GetOwner())
	}
	if s.GetScheduleId() != "" {
		fmt.Fprintf(w, "submitted by schedule %s\n", s.GetScheduleId())
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(s.GetOutcomes())) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, s.GetOutcomes()[kind]))
	}
	if s.GetFailed() > 0 {
		parts = append(parts, fmt.Sprintf("given up %d", s.GetFailed()))
	}
	if s.GetRetries() > 0 {
		parts = append(parts, fmt.Sprintf("(%d retries)", s.GetRetries()))
	}
	fmt.Fprintf(w, "trials: %d done, %d running, %d queued; %s\n", station.Finished(s), s.GetRunning(), s.GetQueued(),
		strings.Join(parts, ", "))
	renderUnfinished(w, s)
	renderRepetitions(w, s.GetRepetitions())
	renderUnproved(w, s)
	renderFailedBeside(w, s)
	for _, need := range slices.Sorted(maps.Keys(s.GetUnplaced())) {
		fmt.Fprintf(w, "%[2]d trials wait for a runner with %[1]s; no connected one has it%[3]s\n", need, s.GetUnplaced()[need],
			executors.Remedy(need))
	}
	for _, why := range s.GetHeld() {
		fmt.Fprintln(w, "waits: "+plain(why))
	}
	renderChecks(w, s.GetChecks(), s.GetSignals())
}

// renderUnfinished prints how many trials were cancelled.
func renderUnfinished(w io.Writer, s *misstepv1.CampaignStatus) {
	if n := s.GetCancelled() - s.GetUnfinished(); n > 0 {
		fmt.Fprintf(w, "cancelled before they began: %s\n", plural(int(n), "trial"))
	}
	if n := s.GetUnfinished(); n > 0 {
		fmt.Fprintf(w, "cancelled while they ran: %s, of which nothing is known\n", plural(int(n), "trial"))
	}
}

// renderRepetitions prints how much was run once more elsewhere.
func renderRepetitions(w io.Writer, r *misstepv1.Repetitions) {
	if r.GetDrawn() == 0 {
		return
	}
	waiting := r.GetDrawn() - min(r.GetDrawn(), r.GetEnded()+r.GetDropped())
	fmt.Fprintf(w, "repeated by other runners: %d of %d drawn trials, %d to come, %d dropped; %d showed a finding one time only\n",
		r.GetEnded(), r.GetDrawn(), waiting, r.GetDropped(), r.GetDiffering())
}

// renderPerturbation prints what a perturbation did.
func renderPerturbation(w io.Writer, p *misstepv1.PerturbationReport) {
	if !misstepv1.Disturbs(p.GetStrategy()) {
		return
	}
	fmt.Fprintf(w, "perturbed by %s, seed %d, %s on %s: %d decisions about %d threads; applied: %s\n", p.GetStrategy(), p.GetSeed(),
		p.GetMechanism(), p.GetKernel(),
		p.GetDecisions(), p.GetThreads(), counts(p.GetApplied()))
	if d := p.GetDelays(); d.GetCount() > 0 {
		fmt.Fprintf(w, "delays: half below %v, 90 %% below %v, all below %v\n", d.GetMedian().AsDuration(), d.GetP90().AsDuration(),
			d.GetLongest().AsDuration())
	}
	t := table(w)
	if len(p.GetRoles()) > 0 {
		fmt.Fprintln(t, "role\tthreads\tdecisions\tdelays\tdelayed\tstarved\tpreempted\tran")
	}
	for _, name := range slices.Sorted(maps.Keys(p.GetRoles())) {
		r := p.GetRoles()[name]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%v\t%d\t%d\t%v\n", name, r.GetThreads(), r.GetDecisions(), r.GetDelays(),
			r.GetDelayed().AsDuration().Round(time.Microsecond),
			r.GetStarved(), r.GetPreempted(), r.GetRan().AsDuration().Round(time.Microsecond))
	}
	t.Flush()
}

// mismatchSummary counts an outcome's mismatches, how many kinds of them there are (signatures, not records) and which are known.
func mismatchSummary(o *misstepv1.Outcome, knownAs func(*misstepv1.Mismatch) string) string {
	var times uint64
	labelled, labels := map[string]bool{}, map[string]bool{} // by signature, whether it is known
	for _, m := range o.GetMismatches() {
		times += max(m.GetCount(), 1)
		sig, _ := triage.Mismatch(m)
		label := labelOf(m, knownAs)
		labelled[signature.ID(sig)] = label != ""
		if label != "" {
			labels[label] = true
		}
	}
	known := 0
	for _, is := range labelled {
		if is {
			known++
		}
	}
	kinds := len(labelled) + int(o.GetSignaturesLeftOut())
	text := fmt.Sprintf("%d of %d kinds", times, kinds)
	if kinds == 1 {
		text = fmt.Sprintf("%d of one kind", times)
	}
	switch {
	case knownAs == nil:
	case known == 0:
		text += ", none known"
	case known == kinds:
		text += ", known as " + strings.Join(slices.Sorted(maps.Keys(labels)), ", ")
	default:
		text += fmt.Sprintf(", %d of the kinds known as %s", known, strings.Join(slices.Sorted(maps.Keys(labels)), ", "))
	}
	return text
}

func labelOf(m *misstepv1.Mismatch, knownAs func(*misstepv1.Mismatch) string) string {
	if knownAs == nil {
		return ""
	}
	return knownAs(m)
}

// renderStderr prints the end of what a failed workload wrote to stderr.
func renderStderr(w io.Writer, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	fmt.Fprintln(w, "\nthe workload's stderr ends with:")
	for line := range strings.Lines(text) {
		fmt.Fprintf(w, "  %s\n", printable(strings.TrimRight(line, "\r\n")))
	}
}

// printable replaces by ? what a terminal would obey (see output), which any program may write, in a line whose width counts.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if obeyed(r) || r == '\n' {
			return '?'
		}
		return r
	}, line)
}
