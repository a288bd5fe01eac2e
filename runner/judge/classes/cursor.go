package classes

import (
	"encoding/binary"
	"errors"
)

var errShort = errors.New("the file ends in it")

// cursor reads big-endian values. The first error stays; what is read after it is zero.
type cursor struct {
	data []byte
	at   int
	err  error
}

// take returns the next bytes; nil if there are not as many.
func (r *cursor) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.data)-r.at {
		if r.err == nil {
			r.err = errShort
		}
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *cursor) skip(n int) { r.take(n) }

func (r *cursor) u1() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *cursor) u2() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *cursor) u4() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}
