// Package campaign reads campaign files, reports precisely what is wrong with them, and turns them into recipes. It reads recipe
// files, too, which have the same form.
//
// A campaign is YAML with the field names of the message Campaign, snake_case or camelCase. Durations are written 1ms, 90s or
// 2h30m; a strategy round_robin or random. Left out fields take these values: one alternative of instrumentation with ratio 1,
// one of sampling without signals, one empty flag set, no perturbation, no profiler, strategy round_robin, every check that fits a
// trial (then with signals, if sampling is left out too), and the limits of package recipe.
package campaign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// MaxFile is the maximum size of a campaign file in bytes.
const MaxFile = 1 << 20

// Document is a campaign that remembers where in its file each field is.
type Document struct {
	Campaign *misstepv1.Campaign
	name     string
	lines    map[string]int
}

// Load reads and validates a campaign; name is that of the file, for messages. The error is a *FileError that lists everything that
// is wrong, with line numbers.
func Load(file []byte, name string) (*misstepv1.Campaign, error) {
	d, err := Parse(file, name)
	if err != nil {
		return nil, err
	}
	return d.Campaign, nil
}

// Parse is Load for callers that also Resolve the names in the campaign.
func Parse(file []byte, name string) (*Document, error) {
	d := &Document{Campaign: &misstepv1.Campaign{}, name: name, lines: map[string]int{}}
	r := &reader{lines: d.lines}
	if err := r.whole(file, name, d.Campaign); err != nil {
		return nil, err
	}
	if err := d.error(nil, append(r.missing, Validate(d.Campaign)...)); err != nil {
		return nil, err
	}
	return d, nil
}

// ParseAs reads a file that has the form of a campaign's into a message; validate returns what is wrong with its values. The error
// is a *FileError that has what cannot be read, and of the rest what is wrong with its values.
func ParseAs(file []byte, name string, into proto.Message, validate func() []recipe.Violation) error {
	d := &Document{name: name, lines: map[string]int{}}
	r := &reader{lines: d.lines}
	if err := r.read(file, name, into); err != nil {
		return err
	}
	return d.error(r.problems, slices.DeleteFunc(validate(), r.follows))
}

// ParseRecipe reads a recipe file, which has the form of a campaign's, without validating its values. The error is a *FileError.
func ParseRecipe(file []byte, name string) (*misstepv1.Recipe, error) {
	parsed := &misstepv1.Recipe{}
	r := &reader{lines: map[string]int{}}
	if err := r.whole(file, name, parsed); err != nil {
		return nil, err
	}
	return parsed, nil
}

// whole fills a message from a file of which everything can be read. The error is a *FileError.
func (r *reader) whole(file []byte, name string, into proto.Message) error {
	err := r.read(file, name, into)
	if err == nil && len(r.problems) > 0 {
		err = &FileError{name, r.problems}
	}
	return err
}

// read fills a message from what can be read of a file and notes problems for the rest. The error, a *FileError, is that of a file
// of which nothing can be read.
func (r *reader) read(file []byte, name string, into proto.Message) error {
	if len(file) > MaxFile {
		text := fmt.Sprintf("expected a file of at most %d bytes, got %d", MaxFile, len(file))
		return &FileError{name, []Problem{{1, recipe.Violation{Message: text}}}}
	}
	root, err := document(file)
	if err != nil {
		return &FileError{name, []Problem{syntax(err)}}
	}
	desc := into.ProtoReflect().Descriptor()
	if root == nil {
		r.fail(1, "", "the file is empty: expected the fields of a %s", strings.ToLower(string(desc.Name())))
		return nil
	}
	if !r.message(root, desc, "") {
		return nil
	}
	// The reader has checked the structure, removed what is wrong and spelled out the scalars, so the library can decode the rest.
	if err := decode(root, into); err != nil {
		r.fail(root.Line, "", "%v", err)
	}
	return nil
}

// Resolve checks the names against a catalogue. The error is a *FileError.
func (d *Document) Resolve(have Names) error { return d.error(nil, Resolve(d.Campaign, have)) }

// error lists problems and violations in the order of their lines; it is nil when there are none.
func (d *Document) error(problems []Problem, violations []recipe.Violation) error {
	if len(problems)+len(violations) == 0 {
		return nil
	}
	e := &FileError{d.name, problems}
	seen := map[string]bool{}
	for _, v := range violations {
		if !seen[v.Field] { // the first problem of a field is often the cause of the second
			e.Problems = append(e.Problems, Problem{d.line(v.Field), v})
		}
		seen[v.Field] = true
	}
	slices.SortStableFunc(e.Problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return e
}

// line returns the line of a field, or of the innermost element around it that the file has.
func (d *Document) line(field string) int {
	for {
		if n, ok := d.lines[field]; ok {
			return n
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return 1
		}
		field = field[:cut]
	}
}

// Problem is one thing that is wrong with a file.
type Problem struct {
	// Line from 1.
	Line int
	recipe.Violation
}

// FileError lists everything that is wrong with a file, one line each in the form file:line: field: what was expected.
type FileError struct {
	File     string
	Problems []Problem
}

func (e *FileError) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", e.File, p.Line, p.Violation))
	}
	return strings.Join(lines, "\n")
}

func document(file []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(file))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&more); err == nil {
		return nil, fmt.Errorf("yaml: line %d: expected one document, found a second", more.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(doc.Content) != 1 {
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlLineRE = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax separates the line number from the library's message.
func syntax(err error) Problem {
	m := yamlLineRE.FindStringSubmatch(err.Error())
	if m == nil {
		return Problem{1, recipe.Violation{Message: err.Error()}}
	}
	line := 1
	if n, convErr := strconv.Atoi(m[1]); convErr == nil {
		line = n
	}
	message := err.Error()[len(m[0]):]
	if strings.Contains(message, "cannot start any token") {
		message += " (a tab? YAML is indented by spaces only)"
	}
	return Problem{line, recipe.Violation{Message: "invalid YAML: " + message}}
}

// decode reads what the reader left, every scalar of which has the form of Protobuf's JSON.
func decode(root *yaml.Node, into proto.Message) error {
	var fields any
	if err := root.Decode(&fields); err != nil {
		return err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(text, into)
}
