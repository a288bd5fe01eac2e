// Package reference generates the pages of docs/reference from the code that they describe: messages from their generated Go code,
// commands from the command line's model, checks from their catalogue. Tests compare the committed pages with what is generated;
// `make reference` writes them.
package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Message is a protobuf message with the comments of its .proto file.
type Message struct {
	Name string
	// Doc is the comment above the message as one paragraph; empty if there is none.
	Doc    string
	Fields []Field
}

// Field is a field of a message; each alternative of a oneof is a field.
type Field struct {
	// Name is the spelling of the .proto file, of YAML, and of what --json prints (misstepv1.Canonical).
	Name string
	// Type in Go, such as "[]*Check".
	Type string
	Doc  string
}

// Enum is a protobuf enum: its values with their comments, in the order of their numbers.
type Enum struct {
	Name, Doc string
	Values    []Field
}

// Schema holds the messages and enums of a package by name.
type Schema struct {
	Messages map[string]Message
	Enums    map[string]Enum
}

// Load reads the *.pb.go files of a folder. Messages without a comment, such as the entries of maps, are included.
func Load(dir string) (*Schema, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.pb.go"))
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("reference: no *.pb.go in %s", dir)
	}
	s := &Schema{Messages: map[string]Message{}, Enums: map[string]Enum{}}
	oneofs := map[string][]Field{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		for _, d := range file.Decls {
			if general, ok := d.(*ast.GenDecl); ok {
				s.declare(general, oneofs)
			}
		}
	}
	s.unfold(oneofs)
	return s, nil
}

func (s *Schema) declare(d *ast.GenDecl, oneofs map[string][]Field) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := text(d.Doc)
			switch t := spec.Type.(type) {
			case *ast.StructType:
				s.message(spec.Name.Name, doc, t, oneofs)
			case *ast.Ident:
				if t.Name == "int32" {
					e := s.Enums[spec.Name.Name]
					e.Name, e.Doc = spec.Name.Name, doc
					s.Enums[e.Name] = e
				}
			}
		case *ast.ValueSpec:
			if t, ok := spec.Type.(*ast.Ident); ok && d.Tok == token.CONST {
				e := s.Enums[t.Name]
				e.Values = append(e.Values, Field{Name: strings.TrimPrefix(spec.Names[0].Name, t.Name+"_"), Doc: text(spec.Doc)})
				s.Enums[t.Name] = e
			}
		}
	}
}

// message adds a struct that is a message. The struct of an alternative of a oneof, Message_Field, is added to oneofs under the
// name of its message.
func (s *Schema) message(name, doc string, t *ast.StructType, oneofs map[string][]Field) {
	var fields []Field
	isMessage := false
	for _, f := range t.Fields.List {
		if len(f.Names) == 0 {
			continue
		}
		if f.Names[0].Name == "sizeCache" {
			isMessage = true
		}
		if f.Tag == nil {
			continue
		}
		tags := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		field := Field{Type: goType(f.Type), Doc: text(f.Doc)}
		if oneof := tags.Get("protobuf_oneof"); oneof != "" {
			field.Name = "oneof " + oneof
		}
		for part := range strings.SplitSeq(tags.Get("protobuf"), ",") {
			if v, ok := strings.CutPrefix(part, "name="); ok {
				field.Name = v
			}
		}
		if field.Name != "" {
			fields = append(fields, field)
		}
	}
	switch {
	case isMessage:
		s.Messages[name] = Message{Name: name, Doc: doc, Fields: fields}
	case len(fields) == 1:
		if owner, _, ok := strings.Cut(name, "_"); ok {
			oneofs[owner] = append(oneofs[owner], fields[0])
		}
	}
}

// unfold replaces the interface of each oneof with its alternatives.
func (s *Schema) unfold(oneofs map[string][]Field) {
	for name, m := range s.Messages {
		i := slices.IndexFunc(m.Fields, func(f Field) bool { return strings.HasPrefix(f.Name, "oneof ") })
		if i < 0 {
			continue
		}
		m.Fields = slices.Replace(m.Fields, i, i+1, oneofs[name]...)
		s.Messages[name] = m
	}
}

// Reachable returns the roots and all messages in their fields, directly or through other messages, in breadth-first order, and the
// enums in the order in which they are found.
func (s *Schema) Reachable(roots ...string) (messages []Message, enums []Enum, err error) {
	seen := map[string]bool{}
	queue := slices.Clone(roots)
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		if e, ok := s.Enums[name]; ok {
			enums = append(enums, e)
			continue
		}
		m, ok := s.Messages[name]
		if !ok {
			return nil, nil, fmt.Errorf("reference: no message or enum %s", name)
		}
		messages = append(messages, m)
		for _, f := range m.Fields {
			if t := element(f.Type); s.has(t) {
				queue = append(queue, t)
			}
		}
	}
	return messages, enums, nil
}

func (s *Schema) has(name string) bool {
	_, message := s.Messages[name]
	_, enum := s.Enums[name]
	return message || enum
}

// element returns the name of a type without list, map and pointer.
func element(t string) string {
	if strings.HasPrefix(t, "map[") {
		_, t, _ = strings.Cut(t, "]")
	}
	return strings.TrimLeft(t, "[]*")
}

func goType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + goType(e.X)
	case *ast.ArrayType:
		return "[]" + goType(e.Elt)
	case *ast.MapType:
		return "map[" + goType(e.Key) + "]" + goType(e.Value)
	case *ast.SelectorExpr:
		return goType(e.X) + "." + e.Sel.Name
	}
	return "?"
}

// text returns a comment as one paragraph, without the remarks that protoc-gen-go adds.
func text(c *ast.CommentGroup) string {
	if c == nil {
		return ""
	}
	var words []string
	for line := range strings.Lines(c.Text()) {
		if !strings.HasPrefix(line, "Types that are valid") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " ")
}
