package sqlrows

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
)

// nanos returns a time as its column holds it: nanoseconds since 1970 in UTC, 0 for none.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// Marshal encodes a message for a column; it returns nil, SQL's NULL, for a nil message.
func Marshal(m proto.Message) (any, error) {
	if !m.ProtoReflect().IsValid() {
		return nil, nil
	}
	raw, err := proto.Marshal(m)
	if raw == nil && err == nil {
		raw = []byte{} // an empty message differs from no message
	}
	return raw, err
}

// Unmarshal decodes a column as the driver returns it: nil for NULL, which is no message, or a possibly empty []byte.
func Unmarshal[M proto.Message](column any, m M) (M, error) {
	var none M
	switch raw := column.(type) {
	case nil:
		return none, nil
	case []byte:
		return m, proto.Unmarshal(raw, m)
	default:
		return none, fmt.Errorf("expected a blob for %s, found %T", m.ProtoReflect().Descriptor().Name(), column)
	}
}
