// Package filled makes messages in which every field is set, for tests of what copies them field by field.
package filled

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message sets every field of a message, and of those in it: lists and maps have one element. Of a oneof, the last field is set.
func Message[M proto.Message](m M) M {
	fill(m.ProtoReflect(), 8)
	return m
}

// fill goes at most so deep: a message may be in itself.
func fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case depth == 0:
		case f.IsMap():
			v := m.NewField(f)
			v.Map().Set(scalar(f.MapKey()).MapKey(), value(f.MapValue(), v.Map().NewValue, depth))
			m.Set(f, v)
		case f.IsList():
			v := m.NewField(f)
			v.List().Append(value(f, v.List().NewElement, depth))
			m.Set(f, v)
		default:
			m.Set(f, value(f, func() protoreflect.Value { return m.NewField(f) }, depth))
		}
	}
}

func value(f protoreflect.FieldDescriptor, empty func() protoreflect.Value, depth int) protoreflect.Value {
	if f.Kind() != protoreflect.MessageKind {
		return scalar(f)
	}
	v := empty()
	fill(v.Message(), depth-1)
	return v
}

func scalar(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("text")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("bytes"))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(1)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(1)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(1)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(1)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(1)
	default:
		return protoreflect.ValueOfUint64(1)
	}
}
