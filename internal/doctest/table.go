package doctest

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Table says in what a session of a page differs from what its reader does: each difference with its reason.
type Table struct {
	// Substitutions are made one after the other in commands, in saved files and in what is shown.
	Substitutions []Substitution `yaml:"substitutions"`
	// Given is what readers of pages have before they begin.
	Given []Given `yaml:"given"`
	// Varies are lines of output that a page shows and that not every run prints.
	Varies []Varies `yaml:"varies"`
}

// Substitution replaces what the regular expression From matches by To, in which ${NAME} is a value of the session and $1 a group.
type Substitution struct {
	From  expression `yaml:"from"`
	To    string     `yaml:"to"`
	Why   string     `yaml:"why"`
	Pages []string   `yaml:"pages"`
}

// Given is a script that prepares the session's folder.
type Given struct {
	Pages  []string `yaml:"pages"`
	Script string   `yaml:"script"`
	Why    string   `yaml:"why"`
}

// Varies says which lines need not be printed.
type Varies struct {
	Line  expression `yaml:"line"`
	Why   string     `yaml:"why"`
	Pages []string   `yaml:"pages"`
}

type expression struct{ *regexp.Regexp }

// UnmarshalYAML compiles the expression.
func (e *expression) UnmarshalYAML(node *yaml.Node) (err error) {
	e.Regexp, err = regexp.Compile(node.Value)
	return err
}

// ReadTable reads a table. A row without a reason is an error.
func ReadTable(path string) (*Table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	t := &Table{}
	if err := decoder.Decode(t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, row := range t.rows() {
		if row.why == "" {
			return nil, fmt.Errorf("%s: %s: say why", path, row.what)
		}
	}
	return t, nil
}

// row is what all kinds of rows have.
type row struct {
	what, why string
	pages     []string
}

func (t *Table) rows() (rows []row) {
	for _, s := range t.Substitutions {
		rows = append(rows, row{s.From.String(), s.Why, s.Pages})
	}
	for _, g := range t.Given {
		rows = append(rows, row{g.Script, g.Why, g.Pages})
	}
	for _, v := range t.Varies {
		rows = append(rows, row{v.Line.String(), v.Why, v.Pages})
	}
	return rows
}

// about reports whether a row is about a page: it names the page, or none.
func about(pages []string, page string) bool { return len(pages) == 0 || slices.Contains(pages, page) }

// substitute makes the table's substitutions in what a page says.
func (t *Table) substitute(page, text string) string {
	for _, s := range t.Substitutions {
		if about(s.Pages, page) {
			text = s.From.ReplaceAllString(text, s.To)
		}
	}
	return text
}

// given is the script that prepares a page's session.
func (t *Table) given(page string) (script string) {
	for _, g := range t.Given {
		if about(g.Pages, page) {
			script += g.Script + "\n"
		}
	}
	return script
}

// varies reports whether a line that a page shows may be missing.
func (t *Table) varies(page, line string) bool {
	return slices.ContainsFunc(t.Varies, func(v Varies) bool { return about(v.Pages, page) && v.Line.MatchString(line) })
}
