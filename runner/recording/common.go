package recording

import "strings"

// What chunks have in common is kept for those that follow, within these bounds.
const (
	mostShared  = 1 << 16
	sharedBytes = 256 // of a string
	// methodBytes of a method's strings: a longer one is its chunk's only.
	methodBytes = 2048
)

// mostText is the size of the longest string that is read whole, in bytes: class files have none that is longer (JVMS 4.4.7).
const mostText = 1<<16 - 1

// common are the strings and methods of chunks before.
type common struct {
	strings map[string]string
	methods map[Method]*Method
}

func newCommon() common { return common{strings: map[string]string{}, methods: map[Method]*Method{}} }

// sameMethod returns the method of a chunk before that is the same, so that what was found out about it needs not be found again.
func (s *common) sameMethod(m *Method) *Method {
	if known := s.methods[*m]; known != nil {
		return known
	}
	if len(s.methods) >= mostShared {
		clear(s.methods)
	}
	known := *m
	if len(m.Class)+len(m.Name)+len(m.Descriptor)+len(m.Loader) <= methodBytes {
		s.methods[known] = &known
	}
	return &known
}

// string reads a string that is no constant, as a cursor does.
func (s *common) string(c *cursor) (string, bool) {
	from := c.at
	after := *c
	after.skipString()
	if after.err != nil || after.at-from > sharedBytes {
		value, there := c.text()
		if len(value) > mostText {
			value = strings.ToValidUTF8(value[:mostText], "")
		}
		return value, there
	}
	written := c.data[from:after.at]
	if known, has := s.strings[string(written)]; has {
		c.at = after.at
		return known, true
	}
	value, there := c.text()
	if there && c.err == nil {
		if len(s.strings) >= mostShared {
			clear(s.strings)
		}
		s.strings[string(written)] = value
	}
	return value, there
}
