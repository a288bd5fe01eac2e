package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// payload reads the values of one record. The first error stays; what is read after it is zero.
type payload struct {
	rest []byte
	err  error
}

var errShort = errors.New("a value goes beyond the record")

func (p *payload) unsigned() uint64 {
	value, n := binary.Uvarint(p.rest)
	if p.err != nil || n <= 0 {
		p.fail(errShort)
		return 0
	}
	p.rest = p.rest[n:]
	return value
}

func (p *payload) zigzag() int64 {
	value := p.unsigned()
	return int64(value>>1) ^ -int64(value&1)
}

func (p *payload) signed() int64 { return int64(p.unsigned()) }

// count reads a number of things in a chunk, which has fewer than 2³¹ bytes.
func (p *payload) count() int {
	value := p.unsigned()
	if value > math.MaxInt32 {
		p.fail(fmt.Errorf("a count of %d", value))
		return 0
	}
	return int(value)
}

func (p *payload) problemKind() ProblemKind {
	value := p.unsigned()
	if value > uint64(Parser) {
		p.fail(fmt.Errorf("kind %d of a problem", value))
		return UnspecifiedProblem
	}
	return ProblemKind(value)
}

func (p *payload) text() string {
	size := p.unsigned()
	if p.err != nil || size > uint64(len(p.rest)) {
		p.fail(errShort)
		return ""
	}
	text := string(p.rest[:size])
	p.rest = p.rest[size:]
	return text
}

func (p *payload) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// entry reads an index and returns what it refers to, the zero value for 0.
func entry[T any](p *payload, table []T, kind string) T {
	var none T
	index := p.unsigned()
	if p.err != nil || index == 0 {
		return none
	}
	if index > uint64(len(table)) {
		p.fail(fmt.Errorf("%s %d of %d", kind, index, len(table)))
		return none
	}
	return table[index-1]
}
