package known

import (
	"fmt"
	"slices"
	"strings"

	"misstep/internal/strictyaml"
)

// Match is a pattern of signatures: the kind, and a pattern for each part in order, in which * stands for any string, {a|b} for a
// or b, and {stub} for a name without a dot, as code that is no method has.
type Match struct {
	Kind  string   `yaml:"kind"`
	Parts []string `yaml:"parts"`
}

// entry is a bug as it is written.
type entry struct {
	ID          string   `yaml:"id"`
	Title       string   `yaml:"title,omitempty"`
	Description string   `yaml:"description,omitempty"`
	Link        string   `yaml:"link,omitempty"`
	Note        string   `yaml:"note,omitempty"`
	Versions    []string `yaml:"versions,omitempty"`
	FixedIn     []string `yaml:"fixed_in,omitempty"`
	Matches     []Match  `yaml:"matches"`
}

func readEntries(text []byte) ([]entry, error) {
	var entries []entry
	if err := strictyaml.Decode(text, &entries); err != nil {
		return nil, fmt.Errorf("read the catalogue of known bugs: %w", err)
	}
	return entries, nil
}

// bug returns the entry as it is written, which matches nothing yet.
func (e entry) bug() Bug {
	return Bug{
		ID: e.ID, Title: e.Title, Description: strings.TrimSpace(e.Description), Versions: e.Versions, Link: e.Link,
		Note: strings.TrimSpace(e.Note), FixedIn: e.FixedIn, Matches: e.Matches,
	}
}

// compile checks what both catalogues demand of an entry.
func (e entry) compile() (Bug, error) {
	b := e.bug()
	for _, v := range e.Versions {
		r, err := parseRange(v)
		if err != nil {
			return Bug{}, fmt.Errorf("known bug %s: %w", b.ID, err)
		}
		b.ranges = append(b.ranges, r)
	}
	for _, f := range e.FixedIn {
		fixed, err := parseFix(f)
		if err != nil {
			return Bug{}, fmt.Errorf("known bug %s: %w", b.ID, err)
		}
		b.fixes = append(b.fixes, fixed)
	}
	for _, m := range e.Matches {
		if m.Kind == "" || len(m.Parts) == 0 {
			return Bug{}, fmt.Errorf("known bug %s: a match without kind or parts would match everything", b.ID)
		}
		compiled := match{kind: m.Kind}
		for _, p := range m.Parts {
			compiled.parts = append(compiled.parts, glob(p))
		}
		b.matches = append(b.matches, compiled)
	}
	return b, nil
}

func (c Catalogue) has(id string) bool {
	return slices.ContainsFunc(c.bugs, func(b Bug) bool { return b.ID == id })
}
