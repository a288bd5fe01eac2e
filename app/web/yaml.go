package web

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	misstepv1 "misstep/proto/misstep/v1"
)

// yamlOf writes a campaign as people do.
func yamlOf(c *misstepv1.Campaign) (string, error) {
	text, err := misstepv1.Canonical(c)
	if err != nil {
		return "", err
	}
	var tree yaml.Node // JSON is YAML
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return "", err
	}
	for _, root := range tree.Content {
		tidy(root, c.ProtoReflect().Descriptor())
	}
	out, err := yaml.Marshal(&tree)
	return strings.TrimSpace(string(out)), err
}

// tidy takes away the style of JSON from a message and brings its fields into the order of the .proto file.
func tidy(n *yaml.Node, message protoreflect.MessageDescriptor) {
	n.Style = 0
	for _, child := range n.Content {
		child.Style = 0
	}
	if n.Kind == yaml.SequenceNode {
		for _, element := range n.Content {
			tidy(element, message)
		}
	}
	if n.Kind != yaml.MappingNode || message == nil {
		return
	}
	type field struct {
		number     protoreflect.FieldNumber
		key, value *yaml.Node
	}
	var fields []field
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f := message.Fields().ByName(protoreflect.Name(key.Value))
		if f == nil {
			return // a map, whose keys are no fields
		}
		if f.Kind() == protoreflect.Uint64Kind || f.Kind() == protoreflect.Int64Kind { // which JSON writes as strings
			value.Tag = "!!int"
		}
		tidy(value, f.Message())
		fields = append(fields, field{f.Number(), key, value})
	}
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.number, b.number) })
	n.Content = nil
	for _, f := range fields {
		n.Content = append(n.Content, f.key, f.value)
	}
}
