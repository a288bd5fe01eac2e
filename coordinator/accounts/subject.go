package accounts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// timestamp is the name of the message of a time.
var timestamp = (*timestamppb.Timestamp)(nil).ProtoReflect().Descriptor().FullName()

const (
	maxSubject = 200 // bytes
	maxNesting = 3   // messages in messages
	maxListed  = 5   // elements of a list
)

// naming are the fields by which a message names something, besides those that end in _id. No other field is repeated in the log.
var naming = map[protoreflect.Name]bool{
	"id": true, "name": true, "person": true, "group": true, "project": true, "role": true, "made_by": true,
	"visibility": true, "until": true, "runners": true, "trials_a_day": true, "evidence_a_day": true,
}

// subject says what a call is about, by the fields of its request and its response that name something.
func subject(request, response any) string {
	var words []string
	for _, m := range []any{request, response} {
		if m, ok := m.(proto.Message); ok && m.ProtoReflect().IsValid() {
			words = collect(words, "", m.ProtoReflect(), 0)
		}
	}
	text := access.Redact(strings.Join(words, " "))
	if len(text) > maxSubject {
		text = strings.ToValidUTF8(text[:maxSubject-len("…")], "") + "…"
	}
	return text
}

// collect appends the naming fields of a message, each value once.
func collect(words []string, path string, m protoreflect.Message, nesting int) []string {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) || f.IsMap() {
			continue
		}
		v := m.Get(f)
		switch {
		case naming[f.Name()] && !f.IsList() && f.Message() != nil && f.Message().FullName() == timestamp:
			seconds := v.Message().Get(f.Message().Fields().ByName("seconds")).Int()
			words = append(words, path+string(f.Name())+"="+time.Unix(seconds, 0).UTC().Format(time.RFC3339))
		case f.Message() != nil && nesting < maxNesting && f.IsList():
			for j := range min(v.List().Len(), maxListed) {
				words = collect(words, path+string(f.Name())+".", v.List().Get(j).Message(), nesting+1)
			}
		case f.Message() != nil && nesting < maxNesting && !f.IsList():
			words = collect(words, path+string(f.Name())+".", v.Message(), nesting+1)
		case f.Message() == nil && !f.IsList() && (naming[f.Name()] || strings.HasSuffix(string(f.Name()), "_id")):
			leaf := string(f.Name()) + "=" + value(f, v)
			said := slices.ContainsFunc(words, func(w string) bool { return w == leaf || strings.HasSuffix(w, "."+leaf) })
			if !said {
				words = append(words, path+leaf)
			}
		}
	}
	return words
}

func value(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if f.Enum() != nil && f.Enum().FullName() == misstepv1.Role(0).Descriptor().FullName() {
		return access.RoleName(misstepv1.Role(v.Enum()))
	}
	if f.Enum() != nil {
		if d := f.Enum().Values().ByNumber(v.Enum()); d != nil {
			return string(d.Name())
		}
	}
	text := fmt.Sprint(v.Interface())
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '"' || !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
