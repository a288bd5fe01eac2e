// Package strictyaml reads YAML that people write into Go values. Its errors name line and field, and what is expected there,
// in the words of YAML rather than in Go's.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"misstep/internal/shorten"
)

const (
	// maxShown bounds the problems that an error names.
	maxShown = 5
	// maxLine bounds one of them in bytes.
	maxLine = 300
)

// Decode reads one document into what into points to; a string without one leaves it as it is. Fields that its type does not
// have are errors.
func Decode(text []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	err := dec.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		var more yaml.Node
		if err = dec.Decode(&more); errors.Is(err, io.EOF) {
			return nil
		} else if err == nil {
			return fmt.Errorf("line %d: expected one document, found a second: remove the line ---", more.Line)
		}
	}
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return fmt.Errorf("no valid YAML: %s: look at quotes, colons and the indentation there, which is by spaces",
			shorten.To(strings.TrimPrefix(err.Error(), "yaml: "), maxLine))
	}
	types := map[string]reflect.Type{}
	collect(reflect.TypeOf(into).Elem(), types)
	var lines []string
	for _, problem := range wrong.Errors[:min(len(wrong.Errors), maxShown)] {
		lines = append(lines, shorten.To(plain(problem, types), maxLine))
	}
	if more := len(wrong.Errors) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(lines, "; "))
}

var (
	mistypedRE = regexp.MustCompile("(?s)^line (\\d+): cannot unmarshal !!(\\w+)(?: `(.*)`)? into (.+)$")
	unknownRE  = regexp.MustCompile(`(?s)^line (\d+): field (.*) not found in type (.+)$`)
)

// names of YAML's kinds, by tag.
var names = map[string]string{
	"seq": "a list", "map": "a mapping", "str": "text", "int": "a number", "float": "a number", "bool": "true or false",
	"null": "nothing", "timestamp": "a date",
}

// plain says a problem of the library's without Go's types.
func plain(problem string, types map[string]reflect.Type) string {
	if m := mistypedRE.FindStringSubmatch(problem); m != nil {
		got := names[m[2]]
		if got == "" {
			got = "!!" + m[2]
		}
		if m[3] != "" {
			got += fmt.Sprintf(" (%s)", m[3])
		}
		return fmt.Sprintf("line %s: expected %s, got %s", m[1], describe(types[m[4]]), got)
	}
	if m := unknownRE.FindStringSubmatch(problem); m != nil {
		return fmt.Sprintf("line %s: unknown field %q: expected %s", m[1], m[2], oneOf(types[m[3]]))
	}
	return problem
}

// collect adds a type and those that it is made of, by name.
func collect(t reflect.Type, types map[string]reflect.Type) {
	if types[t.String()] != nil {
		return
	}
	types[t.String()] = t
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer:
		collect(t.Elem(), types)
	case reflect.Struct:
		for f := range t.Fields() {
			collect(f.Type, types)
		}
	}
}

func describe(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	if t.String() == "time.Duration" {
		return "a duration such as 30s or 6h"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem())
	case reflect.Slice, reflect.Array:
		return "a list, whose entries are each " + describe(t.Elem())
	case reflect.Struct:
		return "a mapping with " + oneOf(t)
	case reflect.Map:
		return "a mapping"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	default:
		return "a number"
	}
}

// oneOf names the fields of a struct.
func oneOf(t reflect.Type) string {
	if t == nil || t.Kind() != reflect.Struct {
		return "another one"
	}
	var fields []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		fields = append(fields, name)
	}
	return "the fields " + strings.Join(fields, ", ")
}
