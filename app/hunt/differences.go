package hunt

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	misstepv1 "misstep/proto/misstep/v1"
)

// differences names the fields in which two campaigns differ, apart from those to ignore; of scalars also the values, there and in
// the file at hand: "seed (5, the file has 6)".
func differences(there, here *misstepv1.Campaign, ignore ...string) []string {
	var all []string
	a, b := there.ProtoReflect(), here.ProtoReflect()
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if slices.Contains(ignore, string(field.Name())) || a.Has(field) == b.Has(field) && a.Get(field).Equal(b.Get(field)) {
			continue
		}
		text := string(field.Name())
		if !field.IsList() && !field.IsMap() && field.Message() == nil {
			text = fmt.Sprintf("%s (%s, the file has %s)", text, valueText(field, a.Get(field)), valueText(field, b.Get(field)))
		}
		all = append(all, text)
	}
	return all
}

func valueText(field protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch field.Kind() {
	case protoreflect.StringKind:
		return fmt.Sprintf("%.40q", v.String())
	case protoreflect.EnumKind:
		if value := field.Enum().Values().ByNumber(v.Enum()); value != nil {
			return string(value.Name())
		}
	}
	return v.String()
}
