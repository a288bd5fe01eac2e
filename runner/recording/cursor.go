package recording

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// broken says that the bytes at a position of a chunk are not what the format demands.
type broken struct {
	message  string
	position int
	// limit says that the chunk asks for too much.
	limit bool
}

func brokenAt(position int, format string, arguments ...any) *broken {
	return &broken{message: fmt.Sprintf(format, arguments...), position: position}
}

// cursor reads the primitive values of a chunk: integers are LEB128 with at most nine bytes, of which the ninth has eight bits, or,
// where they are plain, big-endian in as many bytes as their type has (HotSpot's jfrEncoders.hpp, JMC's SeekableInputStream). The
// first error stays; what is read after it is zero.
type cursor struct {
	data  []byte
	at    int
	plain bool
	err   *broken
}

func (c *cursor) fail(format string, arguments ...any) {
	if c.err == nil {
		c.err = brokenAt(c.at, format, arguments...)
	}
}

func (c *cursor) octet() byte {
	if c.err != nil || c.at >= len(c.data) {
		c.fail("a value goes beyond its end")
		return 0
	}
	c.at++
	return c.data[c.at-1]
}

// The bytes of plain integers, by their type.
const (
	charBytes = 2
	intBytes  = 4
	longBytes = 8
)

// integer reads one that has so many bytes where it is plain.
func (c *cursor) integer(width uint8) uint64 {
	if c.at < len(c.data) && c.data[c.at] < 0x80 && !c.plain && c.err == nil {
		c.at++
		return uint64(c.data[c.at-1])
	}
	return c.wide(width)
}

// long reads a long integer, such as the id of a constant.
func (c *cursor) long() uint64 { return c.integer(longBytes) }

func (c *cursor) wide(width uint8) uint64 {
	if c.plain {
		from := c.at
		c.skip(int(width))
		var value uint64
		for _, b := range c.data[from:c.at] {
			value = value<<8 | uint64(b)
		}
		return value
	}
	if c.err == nil && len(c.data)-c.at >= 9 {
		nine, value := c.data[c.at:c.at+9], uint64(0)
		for i, b := range nine[:8] {
			value |= uint64(b&0x7f) << (7 * i)
			if b < 0x80 {
				c.at += i + 1
				return value
			}
		}
		c.at += 9
		return value | uint64(nine[8])<<56
	}
	var value uint64
	for shift := 0; shift < 56; shift += 7 {
		b := c.octet()
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	return value | uint64(c.octet())<<56
}

// count reads a length or count that cannot be larger than the bytes that are left.
func (c *cursor) count() int {
	value := c.integer(intBytes)
	if value > uint64(len(c.data)-c.at) {
		c.fail("a length of %d goes beyond its end", int64(value))
		return 0
	}
	return int(value)
}

func (c *cursor) skip(bytes int) {
	if c.err != nil || bytes > len(c.data)-c.at {
		c.fail("a value of %d bytes goes beyond its end", bytes)
		return
	}
	c.at += bytes
}

// The encodings of a string.
const (
	nullString     = 0
	emptyString    = 1
	constantString = 2
	utf8String     = 3
	charsString    = 4
	latin1String   = 5
)

// skipString skips a string; it returns the id of the constant that it is, or 0.
func (c *cursor) skipString() uint64 {
	switch encoding := c.octet(); encoding {
	case nullString, emptyString:
	case constantString:
		return c.long()
	case utf8String, latin1String:
		c.skip(c.count())
	case charsString:
		for left := c.count(); left > 0 && c.err == nil; left-- {
			c.integer(charBytes)
		}
	default:
		c.fail("a string has the unknown encoding %d", int8(encoding))
	}
	return 0
}

// text reads a string that is no constant; false for null.
func (c *cursor) text() (string, bool) {
	switch encoding := c.octet(); encoding {
	case nullString:
		return "", false
	case emptyString:
	case utf8String, latin1String:
		size := c.count()
		from := c.at
		c.skip(size)
		if encoding == latin1String {
			return fromLatin1(c.data[from:c.at]), true
		}
		return strings.ToValidUTF8(string(c.data[from:c.at]), "\ufffd"), true
	case charsString:
		units := make([]uint16, c.count())
		for i := range units {
			units[i] = uint16(c.integer(charBytes))
		}
		return string(utf16.Decode(units)), true
	default:
		c.fail("a string has the unknown encoding %d", int8(encoding))
	}
	return "", true
}

func fromLatin1(data []byte) string {
	if !slices.ContainsFunc(data, func(b byte) bool { return b >= utf8.RuneSelf }) {
		return string(data)
	}
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return string(runes)
}

// sameSince reports whether the bytes from a position to this one are those of another cursor of the chunk.
func (c *cursor) sameSince(position int, other *cursor, otherPosition int) bool {
	return bytes.Equal(c.data[position:c.at], c.data[otherPosition:other.at])
}
