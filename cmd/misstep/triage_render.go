package main

import (
	"fmt"
	"io"
	"strings"

	"misstep/app/report"
	"misstep/signature"
	"misstep/triage"
)

// renderAnswers prints what each report is, the most important first, within the width of the terminal.
func renderAnswers(w io.Writer, answers []report.Answer) {
	width, _ := sizeOf(w)
	for i, a := range answers {
		if i > 0 {
			fmt.Fprintln(w)
		}
		renderAnswer(&labelled{w, width}, a)
	}
}

func renderAnswer(l *labelled, a report.Answer) {
	x := a.Explanation
	fmt.Fprintf(l.w, "%s  %s\n", a.ID, printable(a.File))
	l.line(x.Title)
	l.row("known as", knownText(a))
	of := knownHere(x.Known)
	for _, k := range x.Known {
		if k.Here || of == 0 {
			if of != 1 {
				l.row("", k.ID)
			}
			l.row("", k.Title)
			l.rows("", aboutKnown(k))
		}
	}
	for _, k := range x.NearKnown {
		l.row("near", k.ID+": "+k.Reason)
		l.row("", k.Title)
		l.rows("", aboutKnown(k))
	}
	for _, k := range x.Named {
		l.row("named", strings.TrimSuffix(k.ID+": "+k.Title, ": "))
		l.rows("", aboutKnown(k))
	}
	l.row("assorted", x.Assorted)
	if x.CutID != "" {
		l.row("cut", "the report ends early; by itself it would be "+x.CutID)
	}
	if x.EndsEarly {
		l.row("cut", "the dump ends early: the threads that it lacks may be those that hang")
	}
	l.row("former id", x.FormerID)
	if x.With != "" {
		l.row("with", x.With+", a dump of the same JVM: both were read together")
	}
	l.row("what next", x.Next)
	if f := x.Finding; f != nil {
		l.row("finding", fmt.Sprintf("%s, %d hits: %s", f.ID, f.Hits, f.Title))
	}
	l.rows("nearest", nearTexts(x.Nearest))
	l.row("JVM", orDash(x.JVM))
	l.rows("signature", a.Signature[1:])
	l.rows("rule", []string{x.Rule, x.Reason})
	l.rows("facts", factTexts(x.Facts))
}

// aboutKnown returns where a known bug is described, and which versions have it.
func aboutKnown(k report.Known) []string {
	texts := []string{k.Link}
	if len(k.Versions) > 0 {
		texts = append(texts, "versions that have it: "+versionsText(k.Versions))
	}
	if len(k.FixedIn) > 0 {
		texts = append(texts, "fixed in: "+strings.Join(k.FixedIn, ", "))
	}
	return texts
}

func nearTexts(nearest []report.Near) (texts []string) {
	for _, n := range nearest {
		texts = append(texts, fmt.Sprintf("%s, %.0f %% alike, %s: %s", n.ID, 100*n.Score, n.Reason, n.Title))
	}
	return texts
}

// maxFacts of an answer are printed.
const maxFacts = 16

// factTexts returns the facts that hold, without those that repeat the signature and those of threads that are not blamed, which
// other facts count.
func factTexts(facts []triage.Fact) (texts []string) {
	more := 0
	for _, f := range facts {
		value := fmt.Sprint(f.Value)
		switch {
		case !f.Holds() || strings.HasPrefix(f.Name, triage.PartFact):
		case strings.HasPrefix(f.Name, triage.ThreadFact) && strings.Contains(value, triage.LeftOut):
		case len(texts) >= maxFacts:
			more++
		case f.Value == true:
			texts = append(texts, f.Name)
		default:
			texts = append(texts, f.Name+": "+signature.Clean(value))
		}
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more, in --json", more))
	}
	return texts
}

// knownHere counts the bugs that a report may be.
func knownHere(bugs []report.Known) (n int) {
	for _, k := range bugs {
		if k.Here {
			n++
		}
	}
	return n
}

// knownText names the known bug, or says why there is none.
func knownText(a report.Answer) string {
	switch bugs := a.Explanation.Known; {
	case a.KnownAs != "":
		return a.KnownAs
	case knownHere(bugs) > 0:
		return "one of these, by the JVM's version, which the report does not say:"
	case len(bugs) > 0:
		return "none; on other versions this signature is:"
	}
	return "none"
}

// versionsText says which versions have a bug.
func versionsText(ranges []string) string {
	var out []string
	for _, r := range ranges {
		switch from, to, _ := strings.Cut(r, ".."); {
		case from == "" && to == "":
			out = append(out, "all")
		case from == to:
			out = append(out, from)
		case to == "":
			out = append(out, from+" and later")
		case from == "":
			out = append(out, to+" and earlier")
		case strings.HasPrefix(from, to+"."):
			out = append(out, from+" and later of "+to)
		default:
			out = append(out, from+" to "+to)
		}
	}
	return strings.Join(out, ", ")
}
