// Package report identifies what a JVM left when it crashed or hung: it finds error files (hs_err) and thread dumps in files, alone
// or inside logs, and gives each the signature and the id of the finding that it would be, the known bug, and the reasons.
package report

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"misstep/internal/hserr"
	"misstep/internal/threaddump"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// Answer is what one report is. A file has several if it has several reports that differ, or a thread dump with several deadlocks.
type Answer struct {
	File string `json:"file"`
	// Kind of the signature: crash or hang.
	Kind string `json:"kind"`
	// ID of the finding that it is, or would be.
	ID string `json:"id"`
	// Signature is its kind, then its parts.
	Signature []string `json:"signature"`
	// KnownAs is the id of the known bug that it is on the JVM that wrote the report; empty when it is not known, and when the
	// version, which the report lacks, decides between several.
	KnownAs     string      `json:"known_as"`
	Explanation Explanation `json:"explanation"`

	signature *misstepv1.Signature
	version   string
	form      form
	dump      *threaddump.Dump // nil for a crash
	pid       string           // of the JVM of a dump; empty if unknown
}

// Explanation says how an answer was found, and what is near it.
type Explanation struct {
	// Title describes the report in one line.
	Title string `json:"title"`
	// JVM that wrote the report, empty if the report does not say it, and Line at which the report begins.
	JVM  string `json:"jvm,omitempty"`
	Line int    `json:"line"`
	triage.Explanation
	// CutID is the id of what is left of a cut report, whose id and signature are those of the finding that completes it.
	CutID string `json:"cut_id,omitempty"`
	// EndsEarly reports that a thread dump lacks its end: what hangs may be missing.
	EndsEarly bool `json:"ends_early,omitempty"`
	// FormerID is the id that earlier versions of Misstep gave to the report; empty if they gave it this one.
	FormerID string `json:"former_id,omitempty"`
	// With is the other file whose dump of the same JVM this answer is from as well, with ":" and its line if that is in the same
	// file; empty if there is none.
	With string `json:"with,omitempty"`
	// Assorted is the reason why reports with this signature have no bug in common; empty if they do. They are never known.
	Assorted string `json:"assorted,omitempty"`
	// Known describes the bugs that have this signature on any version; Here is set of those that it may be.
	Known []Known `json:"known,omitempty"`
	// NearKnown describes bugs of the catalogue that are like it, with the Reason; only of what has no known bug.
	NearKnown []Known `json:"near_known,omitempty"`
	// Named describes the bugs of the JDK that the file names by their ids.
	Named []Known `json:"named,omitempty"`
	// Next says what to do with what is no known bug: where to report it, and with what. Empty if it is one.
	Next string `json:"next,omitempty"`
	// Finding is the store's finding with this signature; absent without a store, and when the store has none.
	Finding *Finding `json:"finding,omitempty"`
	// Nearest findings of the store, nearest first.
	Nearest []Near `json:"nearest,omitempty"`
}

// Finding is what a store knows about the same failure.
type Finding struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	KnownAs string `json:"known_as,omitempty"`
	Hits    uint64 `json:"hits"`
}

// Near is a finding of the store that may have the same cause.
type Near struct {
	ID     string  `json:"id"`
	Score  float64 `json:"score"`
	Reason string  `json:"reason"`
	Title  string  `json:"title"`
}

// Bounds of the answers.
const (
	maxAnswers = 64 // of one file
	maxNearest = 5
)

// Triage identifies reports. Its fields do not change.
type Triage struct {
	// Stdin is read for the name "-".
	Stdin io.Reader
	Known known.Catalogue
	// Findings of a store to compare with, without their examples; nil without a store.
	Findings []*misstepv1.Finding
}

// FileError is the reason why a file could not be answered.
type FileError struct {
	File string
	Err  error
}

// Error names the file.
func (e *FileError) Error() string { return e.File + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// Files answers all files that can be answered, in order, and returns a FileError for each other one.
func (t Triage) Files(names []string) (answers []Answer, failed []error) {
	for _, name := range names {
		of, err := t.file(name)
		answers = append(answers, of...)
		if err != nil {
			failed = append(failed, &FileError{name, err})
		}
	}
	answers, err := joinDumps(answers)
	if err != nil {
		failed = append(failed, err)
	}
	answers = t.join(answers)
	for i := range answers {
		t.compare(&answers[i])
	}
	return answers, failed
}

// join gives a crash of which the report was cut the id and the signature of the one finding that completes it: of another report
// or of the store. It returns the answers without those that are the same as another one of their file then.
func (t Triage) join(answers []Answer) []Answer {
	var hits []triage.Hit
	signatures := map[string]*misstepv1.Signature{}
	for _, f := range t.Findings {
		signatures[f.GetId()] = f.GetSignature()
	}
	for _, a := range answers {
		hits = append(hits, triage.Hit{ID: a.ID, Signature: a.signature})
		signatures[a.ID] = a.signature
	}
	joined := triage.Join(hits, t.Findings)
	var out []Answer
	for _, a := range answers {
		if whole, ok := joined[a.ID]; ok {
			a.Explanation.CutID = a.ID
			a.identify(whole, signatures[whole])
		}
		same := func(b Answer) bool { return b.File == a.File && b.ID == a.ID }
		i := slices.IndexFunc(out, same)
		switch {
		case i < 0:
			out = append(out, a)
		case out[i].Explanation.CutID != "": // of a cut and a whole report, the whole one
			out[i] = a
		}
	}
	return out
}

// identify sets the finding that a report is.
func (a *Answer) identify(id string, s *misstepv1.Signature) {
	a.ID, a.Kind, a.signature = id, s.GetKind(), s
	a.Signature = append([]string{s.GetKind()}, s.GetParts()...)
}

// file returns the answers of one file.
func (t Triage) file(name string) ([]Answer, error) {
	file, err := open(name, t.Stdin)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in, err := decode(file)
	if err != nil {
		return nil, err
	}
	var answers []Answer
	var unread error
	var named []string
	err = scan(in.Reader, func(id string) { named = append(named, id) }, func(s section) error {
		of, err := identify(s)
		if err != nil && !errors.Is(err, hserr.ErrNotCrash) { // words about a crash
			unread = fmt.Errorf("line %d: %w", s.line, err)
		}
		for _, a := range of {
			a.File = name
			if !slices.ContainsFunc(answers, func(b Answer) bool { return a.ID == b.ID && !a.joins(b) }) {
				answers = append(answers, a)
			}
		}
		if len(answers) >= maxAnswers {
			return errEnough
		}
		return nil
	})
	for i := range answers {
		answers[i].Explanation.Named = namedBugs(t.Known, named)
	}
	switch {
	case len(answers) > 0: // an input that ends early is a report that ends early
		return answers, nil
	case unread != nil:
		return nil, unread
	case err != nil:
		return nil, fmt.Errorf("no report before this: %w", err)
	case in.full():
		return nil, fmt.Errorf("%w within its first %d MiB", errNeither, maxInput>>20)
	}
	return nil, errNeither
}

var (
	errEnough  = errors.New("enough reports")
	errNeither = errors.New(`neither an error file of HotSpot (hs_err_pidNNN.log, with the line "A fatal error has been detected by ` +
		`the Java Runtime Environment") nor a thread dump (of jstack, jcmd PID Thread.print or Thread.dump_to_file, or SIGQUIT)`)
)

// identify returns the answers of one report, without its file.
func identify(s section) ([]Answer, error) {
	outcome, dump, from, err := outcomeOf(s)
	if err != nil {
		return nil, err
	}
	like := Answer{
		Explanation: Explanation{JVM: from.name, Line: s.line}, version: from.version, form: s.form, dump: dump, pid: pidOf(s),
	}
	return identified(outcome, like)
}

// identified returns the answers of an outcome, with the origin of the report that another one gives.
func identified(outcome *misstepv1.Outcome, like Answer) ([]Answer, error) {
	var answers []Answer
	for _, h := range triage.Triage(outcome) {
		x, err := triage.Explain(outcome, h.Signature)
		if err != nil {
			return nil, err
		}
		a := like
		a.Explanation = Explanation{
			Title: h.Title, JVM: like.Explanation.JVM, Line: like.Explanation.Line, Explanation: x,
			Named: like.Explanation.Named, FormerID: h.FormerID, EndsEarly: like.dump != nil && like.dump.EndsEarly,
		}
		a.identify(h.ID, h.Signature)
		answers = append(answers, a)
	}
	return answers, nil
}

// isFinding reports whether a finding of the store has an id, now or earlier.
func isFinding(f *misstepv1.Finding, id string) bool {
	return f.GetId() == id || slices.Contains(f.GetAliases(), id) || slices.Contains(f.GetFormerIds(), id)
}

// compare adds what the catalogue and the store know.
func (t Triage) compare(a *Answer) {
	if reason, assorted := triage.Assorted(a.signature); assorted {
		a.Explanation.Assorted = reason
		a.Explanation.Next = a.whatNext()
		return
	}
	here := t.Known.Labels(a.signature, &misstepv1.Jdk{Version: a.version})
	a.Explanation.Known = knownBugs(t.Known, a.signature, here)
	switch _, told := known.ParseVersion(a.version); {
	case len(here) == 0:
		a.Explanation.NearKnown, a.Explanation.Next = nearKnown(t.Known, a.signature), a.whatNext()
	case len(here) > 1 && !told:
		a.Explanation.Next = "Which of these bugs it is depends on the JVM's version: add the whole error file, or compare the " +
			"output of java -version with the versions of each."
	default:
		a.KnownAs = here[0]
	}
	for _, f := range t.Findings {
		if isFinding(f, a.ID) || a.Explanation.FormerID != "" && isFinding(f, a.Explanation.FormerID) {
			a.Explanation.Finding = &Finding{f.GetId(), f.GetTitle(), misstepv1.KnownText(f), f.GetHits()}
		}
	}
	mine := &misstepv1.Finding{Id: a.ID, Signature: a.signature}
	for _, n := range triage.Nearest(mine, t.Findings, maxNearest) {
		a.Explanation.Nearest = append(a.Explanation.Nearest, Near{n.GetId(), n.GetScore(), n.GetReason(), n.GetTitle()})
	}
}
