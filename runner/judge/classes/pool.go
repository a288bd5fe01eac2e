package classes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Tags of the constant pool (JVMS 4.4).
const (
	tagUtf8               = 1
	tagLong               = 5
	tagDouble             = 6
	tagClass              = 7
	tagMethodref          = 10
	tagInterfaceMethodref = 11
	tagNameAndType        = 12
	tagInvokeDynamic      = 18
)

// entrySizes are the bytes of an entry behind its tag; those of a tagUtf8 say it themselves.
var entrySizes = map[uint8]int{
	3: 4, 4: 4, tagLong: 8, tagDouble: 8, tagClass: 2, 8: 2, 9: 4, tagMethodref: 4, tagInterfaceMethodref: 4, tagNameAndType: 4,
	15: 3, 16: 2, 17: 4, tagInvokeDynamic: 4, 19: 2, 20: 2,
}

// pool is a constant pool. Entries that do not exist are 0, which no entry's place is.
type pool struct {
	data []byte
	at   []int // by index: where the tag is
}

// call is the method that an invoke names.
type call struct{ owner, name, descriptor string }

// readPool reads the pool at the beginning of what is left, and goes behind it.
func (r *cursor) readPool() (*pool, error) {
	count := int(r.u2())
	p := &pool{data: r.data, at: make([]int, max(count, 1))}
	for i := 1; i < count; i++ {
		p.at[i] = r.at
		tag := r.u1()
		size, known := entrySizes[tag]
		if tag == tagUtf8 {
			size, known = int(r.u2()), true
		}
		if !known && r.err == nil {
			return nil, fmt.Errorf("constant %d has the tag %d, which is unknown", i, tag)
		}
		r.skip(size)
		if r.err != nil {
			return nil, fmt.Errorf("constant %d: %w", i, r.err)
		}
		if tag == tagLong || tag == tagDouble {
			i++ // these take two indices (JVMS 4.4.5)
		}
	}
	return p, r.err
}

// entry returns the contents of a constant that has one of the tags, nil if it has none of them.
func (p *pool) entry(index uint16, tags ...uint8) []byte {
	if int(index) >= len(p.at) || p.at[index] == 0 {
		return nil
	}
	at := p.at[index]
	if !slices.Contains(tags, p.data[at]) {
		return nil
	}
	return p.data[at+1:]
}

var errConstant = errors.New("a constant that is referred to is missing or of another kind")

func (p *pool) text(index uint16) (string, error) {
	data := p.entry(index, tagUtf8)
	if data == nil {
		return "", fmt.Errorf("constant %d: %w", index, errConstant)
	}
	return string(data[2 : 2+int(binary.BigEndian.Uint16(data))]), nil
}

// class returns the name of a class, "" for index 0.
func (p *pool) class(index uint16) (string, error) {
	if index == 0 {
		return "", nil
	}
	data := p.entry(index, tagClass)
	if data == nil {
		return "", fmt.Errorf("constant %d: %w", index, errConstant)
	}
	return p.text(binary.BigEndian.Uint16(data))
}

// call returns the method that an invoke names, whose owner is empty for invokedynamic.
func (p *pool) call(index uint16) (c call, err error) {
	data, owned := p.entry(index, tagMethodref, tagInterfaceMethodref), true
	if data == nil {
		data, owned = p.entry(index, tagInvokeDynamic), false
	}
	if data == nil {
		return call{}, fmt.Errorf("constant %d: %w", index, errConstant)
	}
	if owned {
		if c.owner, err = p.class(binary.BigEndian.Uint16(data)); err != nil {
			return call{}, err
		}
	}
	both := p.entry(binary.BigEndian.Uint16(data[2:]), tagNameAndType)
	if both == nil {
		return call{}, fmt.Errorf("constant %d: %w", index, errConstant)
	}
	if c.name, err = p.text(binary.BigEndian.Uint16(both)); err != nil {
		return call{}, err
	}
	c.descriptor, err = p.text(binary.BigEndian.Uint16(both[2:]))
	return c, err
}
