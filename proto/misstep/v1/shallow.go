package misstepv1

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Shallow returns a copy of a message that shares what its fields hold with the message.
func Shallow[M proto.Message](m M) M {
	c := m.ProtoReflect().New()
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		c.Set(f, v)
		return true
	})
	c.SetUnknown(m.ProtoReflect().GetUnknown())
	return c.Interface().(M) //nolint:forcetypeassert // New returns the same type
}
