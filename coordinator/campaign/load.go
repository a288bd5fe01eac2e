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
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"buf.build/go/protoyaml"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"misstep/internal/shorten"
	"misstep/internal/suggest"
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
	if err := r.read(file, name, d.Campaign); err != nil {
		return nil, err
	}
	if err := d.error(append(r.missing, Validate(d.Campaign)...)); err != nil {
		return nil, err
	}
	return d, nil
}

// ParseAs reads a file that has the form of a campaign's into a message; validate returns what is wrong with its values. The error
// is a *FileError.
func ParseAs(file []byte, name string, into proto.Message, validate func() []recipe.Violation) error {
	d := &Document{name: name, lines: map[string]int{}}
	r := &reader{lines: d.lines}
	if err := r.read(file, name, into); err != nil {
		return err
	}
	return d.error(validate())
}

// ParseRecipe reads a recipe file, which has the form of a campaign's, without validating its values. The error is a *FileError.
func ParseRecipe(file []byte, name string) (*misstepv1.Recipe, error) {
	parsed := &misstepv1.Recipe{}
	r := &reader{lines: map[string]int{}}
	if err := r.read(file, name, parsed); err != nil {
		return nil, err
	}
	return parsed, nil
}

// read fills a message from a file. The error is a *FileError.
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
	} else {
		r.message(root, desc, "")
	}
	if len(r.problems) > 0 {
		return &FileError{name, r.problems}
	}
	// The reader has checked the structure and spelled out the enums, so the library can decode the rest.
	if err := decode(root, into, name); err != nil {
		return &FileError{name, []Problem{{root.Line, recipe.Violation{Message: err.Error()}}}}
	}
	return nil
}

// Resolve checks the names against a catalogue. The error is a *FileError.
func (d *Document) Resolve(have Names) error { return d.error(Resolve(d.Campaign, have)) }

func (d *Document) error(violations []recipe.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	e := &FileError{File: d.name}
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
	return Problem{line, recipe.Violation{Message: "invalid YAML: " + err.Error()[len(m[0]):]}}
}

func decode(root *yaml.Node, into proto.Message, name string) error {
	text, err := yaml.Marshal(root)
	if err != nil {
		return err
	}
	return protoyaml.UnmarshalOptions{Path: name}.Unmarshal(text, into)
}

// reader walks the YAML along the message's descriptor and notes problems, and the line of every field.
type reader struct {
	lines    map[string]int
	problems []Problem
	// missing are required fields whose zero value would be valid.
	missing []recipe.Violation
}

const maxProblems = 50

func (r *reader) fail(line int, field, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{line, recipe.Violation{Field: field, Message: fmt.Sprintf(format, args...)}})
	}
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// plain rejects anchors and aliases, which would make a file mean something other than it shows.
func (r *reader) plain(n *yaml.Node, path string) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		r.fail(n.Line, path, "anchors and aliases are not supported: write the value out")
		return false
	}
	return true
}

func (r *reader) message(n *yaml.Node, desc protoreflect.MessageDescriptor, path string) {
	if !r.plain(n, path) {
		return
	}
	if desc.FullName() == "google.protobuf.Duration" {
		r.duration(n, path)
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n.Line, path, "expected the fields %s, got %s", strings.Join(fieldNames(desc), ", "), kind(n))
		return
	}
	if desc.Name() == "Perturbation" {
		splitRanges(n)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || key.Anchor != "" {
			r.fail(key.Line, path, "expected the name of a field, got %s", kind(key))
			continue
		}
		fd := field(desc, key.Value)
		if fd == nil {
			hint := ""
			if near := suggest.Nearest(key.Value, fieldNames(desc)); near != "" {
				hint = ", did you mean " + near + "?"
			}
			r.fail(key.Line, join(path, clip(key.Value)), "unknown field%s (fields here: %s)", hint,
				strings.Join(fieldNames(desc), ", "))
			continue
		}
		at := join(path, string(fd.Name()))
		if line, dup := seen[at]; dup {
			r.fail(key.Line, at, "is given twice, first on line %d", line)
			continue
		}
		seen[at], r.lines[at] = key.Line, key.Line
		r.field(value, fd, at)
	}
	// A ratio of 0 is meaningful, so an omitted ratio cannot mean 0.
	if desc.Name() == "Instrumentation" && seen[join(path, "ratio")] == 0 && seen[join(path, "only")] == 0 {
		r.missing = append(r.missing, recipe.Violation{
			Field:   join(path, "ratio"),
			Message: "is required: from 0 (no method) to 1 (every method)",
		})
	}
}

// splitRanges allows a range in place of a parameter's number: entries of parameters that are mappings, such as {min: 1, max: 5},
// are moved to ranges.
func splitRanges(perturbation *yaml.Node) {
	var parameters, ranges *yaml.Node
	for i := 0; i+1 < len(perturbation.Content); i += 2 {
		switch perturbation.Content[i].Value {
		case "parameters":
			parameters = perturbation.Content[i+1]
		case "ranges":
			ranges = perturbation.Content[i+1]
		}
	}
	if parameters == nil || parameters.Kind != yaml.MappingNode || ranges != nil && ranges.Kind != yaml.MappingNode {
		return
	}
	var numbers []*yaml.Node
	for i := 0; i+1 < len(parameters.Content); i += 2 {
		key, value := parameters.Content[i], parameters.Content[i+1]
		if value.Kind != yaml.MappingNode {
			numbers = append(numbers, key, value)
			continue
		}
		if ranges == nil {
			ranges = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: value.Line}
			perturbation.Content = append(perturbation.Content,
				&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "ranges", Line: key.Line}, ranges)
		}
		ranges.Content = append(ranges.Content, key, value)
	}
	parameters.Content = numbers
}

func (r *reader) field(n *yaml.Node, fd protoreflect.FieldDescriptor, path string) {
	if !r.plain(n, path) {
		return
	}
	switch {
	case n.Tag == "!!null":
		r.fail(n.Line, path, "has no value: give one or leave the field out")
	case fd.IsMap():
		if n.Kind != yaml.MappingNode {
			r.fail(n.Line, path, "expected names with values, got %s", kind(n))
			return
		}
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || !r.plain(key, path) {
				r.fail(key.Line, path, "expected a name, got %s", kind(key))
				continue
			}
			if seen[key.Value] {
				r.fail(key.Line, path, "%s is given twice", suggest.Quote(key.Value))
			}
			seen[key.Value] = true
			r.value(n.Content[i+1], fd.MapValue(), join(path, clip(key.Value)))
		}
	case fd.IsList():
		if n.Kind != yaml.SequenceNode {
			r.fail(n.Line, path, "expected a list, got %s", kind(n))
			return
		}
		for i, item := range n.Content {
			at := fmt.Sprintf("%s[%d]", path, i)
			r.lines[at] = item.Line
			if item.Tag == "!!null" {
				r.fail(item.Line, at, "has no value")
				continue
			}
			r.value(item, fd, at)
		}
	default:
		r.value(n, fd, path)
	}
}

func (r *reader) value(n *yaml.Node, fd protoreflect.FieldDescriptor, path string) {
	if fd.Message() != nil {
		r.message(n, fd.Message(), path)
		return
	}
	if r.plain(n, path) {
		r.scalar(n, fd, path)
	}
}

// uintRE matches integers on which YAML 1.2 and the decoder agree; a leading zero, which means octal to some readers, is rejected.
var uintRE = regexp.MustCompile(`^(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$`)

func (r *reader) scalar(n *yaml.Node, fd protoreflect.FieldDescriptor, path string) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.fail(n.Line, path, "expected %s, got %s", expected(fd), kind(n))
		return
	}
	switch fd.Kind() {
	case protoreflect.StringKind:
		// The value is the string as written, so that arguments such as 4 or true need no quotes.
		n.SetString(n.Value)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		// Protobuf's JSON form, and with it the canonical text, writes 64-bit numbers in quotes.
		width, quotes := 64, yaml.Style(0)
		if fd.Kind() == protoreflect.Uint32Kind {
			width, quotes = 32, yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle
		}
		if n.Style&quotes != 0 || !uintRE.MatchString(n.Value) {
			r.fail(n.Line, path, "expected a non-negative integer, got %s", suggest.Quote(n.Value))
		} else if _, err := strconv.ParseUint(n.Value, 0, width); err != nil {
			r.fail(n.Line, path, "expected an integer below 2^%d, got %s", width, suggest.Quote(n.Value))
		}
	case protoreflect.Int32Kind:
		_, err := strconv.ParseInt(n.Value, 0, 32)
		if err != nil || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 ||
			!uintRE.MatchString(strings.TrimPrefix(n.Value, "-")) {
			r.fail(n.Line, path, "expected an integer, got %s", suggest.Quote(n.Value))
		}
	case protoreflect.DoubleKind:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			r.fail(n.Line, path, "expected a number, got %s", suggest.Quote(n.Value))
		}
	case protoreflect.BoolKind:
		if n.Tag != "!!bool" || n.Value != "true" && n.Value != "false" {
			r.fail(n.Line, path, "expected %s, got %s", expected(fd), suggest.Quote(n.Value))
		}
	case protoreflect.EnumKind:
		r.enum(n, fd.Enum(), path)
	default:
		r.fail(n.Line, path, "fields of type %s are not supported in a file", fd.Kind())
	}
}

// enum accepts a value's name with or without the enum's prefix, in either case, and spells it out for the decoder.
func (r *reader) enum(n *yaml.Node, desc protoreflect.EnumDescriptor, path string) {
	values := desc.Values()
	prefix := strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED")
	var short []string
	for i := 1; i < values.Len(); i++ {
		long := string(values.Get(i).Name())
		s := strings.ToLower(strings.TrimPrefix(long, prefix))
		if v := strings.ReplaceAll(n.Value, "-", "_"); strings.EqualFold(v, s) || strings.EqualFold(v, long) {
			n.SetString(long)
			return
		}
		short = append(short, s)
	}
	r.fail(n.Line, path, "expected one of %s, got %s", strings.Join(short, ", "), suggest.Quote(n.Value))
}

func (r *reader) duration(n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode {
		r.fail(n.Line, path, "expected a duration such as 1ms, 90s or 2h30m, got %s", kind(n))
		return
	}
	d, err := protoyaml.ParseDuration(n.Value)
	if err == nil && d != nil {
		err = d.CheckValid()
	}
	if err != nil {
		r.fail(n.Line, path, "expected a duration such as 1ms, 90s or 2h30m, got %s", suggest.Quote(n.Value))
	}
}

func field(desc protoreflect.MessageDescriptor, key string) protoreflect.FieldDescriptor {
	if fd := desc.Fields().ByName(protoreflect.Name(key)); fd != nil {
		return fd
	}
	return desc.Fields().ByJSONName(key)
}

func fieldNames(desc protoreflect.MessageDescriptor) []string {
	var out []string
	for i := range desc.Fields().Len() {
		out = append(out, string(desc.Fields().Get(i).Name()))
	}
	return out
}

func expected(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return "a string"
	case protoreflect.DoubleKind:
		return "a number"
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.EnumKind:
		return "a name"
	default:
		return "an integer"
	}
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "fields"
	case yaml.AliasNode:
		return "an alias"
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "nothing"
		}
		return suggest.Quote(n.Value)
	default:
		return "something else"
	}
}

func clip(s string) string { return shorten.To(s, maxName) }
