package known

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"misstep/internal/shorten"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// maxID is the length of an id, which lists show.
const maxID = 100

// MaxBytes bounds the text of a catalogue of one's own: twice what one request to a coordinator may hold.
const MaxBytes = 2 << 20

// ParseOwn reads a catalogue of one's own, in the form of known.yaml with the fields link, note and fixed_in; only id and matches
// are required. No version means all. The error names the entry.
func ParseOwn(text []byte) ([]*misstepv1.KnownBug, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("known bugs: expected at most %d KiB: divide the file, and add its parts one after the other",
			MaxBytes>>10)
	}
	entries, err := readEntries(text)
	if err != nil {
		return nil, err
	}
	var out []*misstepv1.KnownBug
	for _, e := range entries {
		out = append(out, e.bug().Proto())
	}
	_, err = Own(out)
	return out, err
}

// Format writes entries in the form that ParseOwn reads.
func Format(bugs []*misstepv1.KnownBug) ([]byte, error) {
	var entries []entry
	for _, p := range bugs {
		entries = append(entries, entryOf(p))
	}
	text, err := yaml.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("write known bugs: %w", err)
	}
	return text, nil
}

func entryOf(p *misstepv1.KnownBug) entry {
	e := entry{
		ID: p.GetId(), Title: p.GetTitle(), Description: p.GetDescription(), Link: p.GetLink(), Note: p.GetNote(),
		Versions: p.GetVersions(), FixedIn: p.GetFixedIn(),
	}
	for _, m := range p.GetMatches() {
		e.Matches = append(e.Matches, Match{Kind: m.GetKind(), Parts: m.GetParts()})
	}
	return e
}

// Own compiles entries of one's own. Each needs a unique id and a match that has at least one literal character besides the labels
// of parts: a match that takes everything of a kind would swallow every new bug.
func Own(entries []*misstepv1.KnownBug) (Catalogue, error) {
	var c Catalogue
	for i, p := range entries {
		e := entryOf(p)
		switch {
		case strings.TrimSpace(e.ID) == "" || strings.ContainsAny(e.ID, " \t\n,"):
			return Catalogue{}, fmt.Errorf("known bug %d: expected an id without blanks and commas, got %q", i, e.ID)
		case len(e.ID) > maxID:
			return Catalogue{}, fmt.Errorf("known bug %d: expected an id of at most %d bytes, got %d", i, maxID, len(e.ID))
		case c.has(e.ID):
			return Catalogue{}, fmt.Errorf("known bug %d: the id %s is taken by an earlier entry", i, e.ID)
		case len(p.GetMatches()) == 0:
			return Catalogue{}, fmt.Errorf("known bug %s: expected matches, each with a kind and parts", e.ID)
		}
		if len(e.Versions) == 0 {
			e.Versions = []string{".."}
		}
		for _, m := range p.GetMatches() {
			if !slices.Contains(signature.Kinds, m.GetKind()) {
				return Catalogue{}, fmt.Errorf("known bug %s: a match of kind %q: expected mismatch, crash, hang or failure", e.ID,
					m.GetKind())
			}
			if literals(m.GetParts()) == 0 {
				return Catalogue{}, fmt.Errorf("known bug %s: a match that fixes no part would match everything of kind %s: "+
					"give at least the place, frame or thread", e.ID, m.GetKind())
			}
		}
		b, err := e.compile()
		if err != nil {
			return Catalogue{}, err
		}
		c.bugs = append(c.bugs, b)
	}
	return c, nil
}

// With returns the catalogue that has the entries of own first, then those of c, except those whose ids own has as well.
func (c Catalogue) With(own Catalogue) Catalogue {
	out := Catalogue{bugs: own.Bugs()}
	for _, b := range c.bugs {
		if !own.has(b.ID) {
			out.bugs = append(out.bugs, b)
		}
	}
	return out
}

// Bug returns the entry with an id.
func (c Catalogue) Bug(id string) (Bug, bool) {
	for _, b := range c.bugs {
		if b.ID == id {
			return b, true
		}
	}
	return Bug{}, false
}

// Fixed returns the first bug that causes a signature elsewhere and whose fix a JDK has, with the entry of fixed_in that says so: a
// finding with that signature on that JDK is the bug come back, or a new bug that looks like it.
func (c Catalogue) Fixed(s *misstepv1.Signature, jdk *misstepv1.Jdk) (id, fixedIn string) {
	s, _ = signature.Upgrade(s)
	for _, b := range c.bugs {
		if f := b.FixedOn(jdk); f != "" && b.causes(s) {
			return b.ID, f
		}
	}
	return "", ""
}

// identifying is the index of the part that tells one bug from another, and what it is called: a mismatch's place, a crash's
// frame, a hang's first thread, a failure's message.
var identifying = map[string]struct {
	index int
	name  string
}{
	signature.KindMismatch: {2, "place"}, signature.KindCrash: {1, "frame"}, signature.KindHang: {1, "thread"},
	signature.KindFailure: {1, "message"},
}

// minLiterals is the number of literal characters from which a pattern of an identifying part is not too wide: the shortest
// function of the VM that is worth a label is longer.
const minLiterals = 4

// Warnings returns a line for each match of an entry that is likely to take other bugs, too: one that leaves open the part which
// tells bugs apart. A crash whose error is a failed assertion is told apart by that. An entry of fixed_in that is no version gets a
// line as well, since it is taken as the name of a JDK build, which may be a mistyped version.
func Warnings(p *misstepv1.KnownBug) []string {
	var out []string
	for _, m := range p.GetMatches() {
		of := identifying[m.GetKind()]
		if m.GetKind() == signature.KindCrash && len(m.GetParts()) > 0 && strings.Contains(m.GetParts()[0], ") failed") {
			continue
		}
		if len(m.GetParts()) <= of.index || literals(m.GetParts()[of.index:of.index+1]) < minLiterals {
			out = append(out, fmt.Sprintf("%s: the match %q of kind %s leaves the %s open, so other bugs would get this label, too",
				p.GetId(), m.GetParts(), m.GetKind(), of.name))
		}
	}
	for _, text := range p.GetFixedIn() {
		if f, err := parseFix(text); err == nil && f.name != "" {
			out = append(out, fmt.Sprintf(
				"%s: fixed_in %q is no version such as 17.0.16 or 28+15; it will only match a JDK build of that name",
				p.GetId(), text))
		}
	}
	return out
}

const (
	// maxWarnings bounds the lines of AllWarnings, maxWarning one of them in bytes.
	maxWarnings = 100
	maxWarning  = 400
)

// AllWarnings returns the warnings of several entries: each once, with how often it occurs, and of more than a hundred the first,
// with the number of the others.
func AllWarnings(bugs []*misstepv1.KnownBug) (lines []string) {
	times := map[string]int{}
	var order []string
	left := 0
	for _, b := range bugs {
		for _, w := range Warnings(b) {
			w = shorten.To(w, maxWarning)
			switch {
			case times[w] == 0 && len(order) == maxWarnings:
				left++
				continue
			case times[w] == 0:
				order = append(order, w)
			}
			times[w]++
		}
	}
	for _, w := range order {
		if n := times[w]; n > 1 {
			w += fmt.Sprintf(" (%d times)", n)
		}
		lines = append(lines, w)
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", left))
	}
	return lines
}

var labels = strings.NewReplacer("frame: ", "", "walker: ", "", "thread: ", "", "operation: ", "", "*", "", " ", "", stub, "")

// literals counts the literal characters of patterns, without those that every part of that kind has; of a choice those of the
// shortest text.
func literals(parts []string) int { return len(labels.Replace(narrowest(strings.Join(parts, "")))) }

// Proto returns the entry as a message, without the time when it was added.
func (b Bug) Proto() *misstepv1.KnownBug {
	p := &misstepv1.KnownBug{
		Id: b.ID, Title: b.Title, Description: b.Description, Link: b.Link, Note: b.Note, Versions: b.Versions, FixedIn: b.FixedIn,
	}
	for _, m := range b.Matches {
		p.Matches = append(p.Matches, &misstepv1.KnownMatch{Kind: m.Kind, Parts: m.Parts})
	}
	return p
}

// Causes reports whether one of the entry's matches matches a signature, on whatever JDK.
func (b Bug) Causes(s *misstepv1.Signature) bool {
	s, _ = signature.Upgrade(s)
	return b.causes(s)
}
