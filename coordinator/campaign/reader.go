package campaign

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/internal/shorten"
	"misstep/internal/suggest"
	"misstep/recipe"
)

// reader walks the YAML along the message's descriptor, notes problems and the line of every field, and removes what has a problem.
type reader struct {
	lines    map[string]int
	problems []Problem
	// meant are fields that unknown ones were probably meant to be.
	meant []string
	// missing are required fields whose zero value would be valid.
	missing []recipe.Violation
}

const maxProblems = 50

// fail notes a problem, if there are not too many, and returns false.
func (r *reader) fail(line int, field, format string, args ...any) bool {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{line, recipe.Violation{Field: field, Message: fmt.Sprintf(format, args...)}})
	}
	return false
}

// follows reports whether a violation may be but the consequence of a field that could not be read.
func (r *reader) follows(v recipe.Violation) bool {
	within := func(field, around string) bool {
		rest, is := strings.CutPrefix(field, around)
		return is && (around == "" || rest == "" || strings.ContainsAny(rest[:1], ".["))
	}
	related := func(field string) bool { return within(v.Field, field) || within(field, v.Field) }
	return slices.ContainsFunc(r.meant, related) ||
		slices.ContainsFunc(r.problems, func(p Problem) bool { return related(p.Field) })
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
		return r.fail(n.Line, path, "anchors and aliases are not supported: write the value out")
	}
	return true
}

// message reads the fields of a message and leaves those in the node that can be read. It reports whether it is one.
func (r *reader) message(n *yaml.Node, desc protoreflect.MessageDescriptor, path string) bool {
	if !r.plain(n, path) {
		return false
	}
	if desc.FullName() == "google.protobuf.Duration" {
		return r.duration(n, path)
	}
	if n.Kind != yaml.MappingNode {
		return r.fail(n.Line, path, "expected the fields %s, got %s", strings.Join(fieldNames(desc), ", "), kind(n))
	}
	if desc.Name() == "Perturbation" {
		splitRanges(n)
	}
	seen := map[string]int{}
	r.entries(n, func(key, value *yaml.Node) bool {
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || key.Anchor != "" {
			return r.fail(key.Line, path, "expected the name of a field, got %s", kind(key))
		}
		fd := field(desc, key.Value)
		if fd == nil {
			hint := ""
			if near := suggest.Nearest(key.Value, fieldNames(desc)); near != "" {
				hint = ", did you mean " + near + "?"
				r.meant = append(r.meant, join(path, near))
			}
			return r.fail(key.Line, join(path, clip(key.Value)), "unknown field%s (fields here: %s)", hint,
				strings.Join(fieldNames(desc), ", "))
		}
		at := join(path, string(fd.Name()))
		if line, dup := seen[at]; dup {
			return r.fail(key.Line, at, "is given twice, first on line %d", line)
		}
		seen[at], r.lines[at] = key.Line, key.Line
		return r.field(value, fd, at)
	})
	// A ratio of 0 is meaningful, so an omitted ratio cannot mean 0.
	if desc.Name() == "Instrumentation" && seen[join(path, "ratio")] == 0 && seen[join(path, "only")] == 0 {
		r.missing = append(r.missing, recipe.Violation{
			Field:   join(path, "ratio"),
			Message: "is required: from 0 (no method) to 1 (every method)",
		})
	}
	return true
}

// entries removes the entries of a mapping that cannot be read.
func (r *reader) entries(n *yaml.Node, read func(key, value *yaml.Node) bool) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if read(n.Content[i], n.Content[i+1]) {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	n.Content = kept
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

// field reads a field and reports whether it has the form of one.
func (r *reader) field(n *yaml.Node, fd protoreflect.FieldDescriptor, path string) bool {
	if !r.plain(n, path) {
		return false
	}
	switch {
	case n.Tag == "!!null":
		return r.fail(n.Line, path, "has no value: give one or leave the field out")
	case fd.IsMap():
		if n.Kind != yaml.MappingNode {
			return r.fail(n.Line, path, "expected names with values, got %s", kind(n))
		}
		seen := map[string]bool{}
		r.entries(n, func(key, value *yaml.Node) bool {
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || !r.plain(key, path) {
				return r.fail(key.Line, path, "expected a name, got %s", kind(key))
			}
			if seen[key.Value] {
				return r.fail(key.Line, path, "%s is given twice", suggest.Quote(key.Value))
			}
			seen[key.Value] = true
			key.SetString(key.Value)
			at := join(path, clip(key.Value))
			r.lines[at] = key.Line
			return r.value(value, fd.MapValue(), at)
		})
	case fd.IsList():
		if n.Kind != yaml.SequenceNode {
			return r.fail(n.Line, path, "expected a list, got %s", kind(n))
		}
		for i, item := range n.Content {
			at := fmt.Sprintf("%s[%d]", path, i)
			r.lines[at] = item.Line
			some := item.Tag != "!!null" || r.fail(item.Line, at, "has no value")
			if !some || !r.value(item, fd, at) {
				n.Content[i] = empty(fd) // the others keep their places
			}
		}
	default:
		return r.value(n, fd, path)
	}
	return true
}

// empty is an item of a list that says nothing.
func empty(fd protoreflect.FieldDescriptor) *yaml.Node {
	if fd.Message() != nil {
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	if fd.Kind() == protoreflect.StringKind {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "0"}
}

func (r *reader) value(n *yaml.Node, fd protoreflect.FieldDescriptor, path string) bool {
	if fd.Message() != nil {
		return r.message(n, fd.Message(), path)
	}
	return r.plain(n, path) && r.scalar(n, fd, path)
}

// uintRE matches integers on which YAML 1.2 and the decoder agree; a leading zero, which means octal to some readers, is rejected.
var uintRE = regexp.MustCompile(`^(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$`)

func (r *reader) scalar(n *yaml.Node, fd protoreflect.FieldDescriptor, path string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return r.fail(n.Line, path, "expected %s, got %s", expected(fd), kind(n))
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
			return r.fail(n.Line, path, "expected a non-negative integer, got %s", suggest.Quote(n.Value))
		}
		number, err := strconv.ParseUint(n.Value, 0, width)
		if err != nil {
			return r.fail(n.Line, path, "expected an integer below 2^%d, got %s", width, suggest.Quote(n.Value))
		}
		n.SetString(strconv.FormatUint(number, 10))
	case protoreflect.Int32Kind:
		number, err := strconv.ParseInt(n.Value, 0, 32)
		if err != nil || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 ||
			!uintRE.MatchString(strings.TrimPrefix(n.Value, "-")) {
			return r.fail(n.Line, path, "expected an integer, got %s", suggest.Quote(n.Value))
		}
		n.SetString(strconv.FormatInt(number, 10))
	case protoreflect.DoubleKind:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			return r.fail(n.Line, path, "expected a number, got %s", suggest.Quote(n.Value))
		}
		n.SetString(strconv.FormatFloat(f, 'g', -1, 64))
	case protoreflect.BoolKind:
		if n.Tag != "!!bool" || n.Value != "true" && n.Value != "false" {
			return r.fail(n.Line, path, "expected %s, got %s", expected(fd), suggest.Quote(n.Value))
		}
	case protoreflect.EnumKind:
		return r.enum(n, fd.Enum(), path)
	default:
		return r.fail(n.Line, path, "fields of type %s are not supported in a file", fd.Kind())
	}
	return true
}

// enum accepts a value's name with or without the enum's prefix, in either case, and spells it out for the decoder.
func (r *reader) enum(n *yaml.Node, desc protoreflect.EnumDescriptor, path string) bool {
	values := desc.Values()
	prefix := strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED")
	var short []string
	for i := 1; i < values.Len(); i++ {
		long := string(values.Get(i).Name())
		s := strings.ToLower(strings.TrimPrefix(long, prefix))
		if v := strings.ReplaceAll(n.Value, "-", "_"); strings.EqualFold(v, s) || strings.EqualFold(v, long) {
			n.SetString(long)
			return true
		}
		short = append(short, s)
	}
	return r.fail(n.Line, path, "expected one of %s, got %s", strings.Join(short, ", "), suggest.Quote(n.Value))
}

func (r *reader) duration(n *yaml.Node, path string) bool {
	if n.Kind != yaml.ScalarNode {
		return r.fail(n.Line, path, "expected a duration such as 1ms, 90s or 2h30m, got %s", kind(n))
	}
	d, err := time.ParseDuration(n.Value)
	if err != nil {
		return r.fail(n.Line, path, "expected a duration such as 1ms, 90s or 2h30m, got %s", suggest.Quote(n.Value))
	}
	n.SetString(strings.Trim(protojson.Format(durationpb.New(d)), `"`))
	return true
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
