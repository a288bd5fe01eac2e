package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// sitesReader reads the values of one record of sites.bin. The first error stays; what is read after it is zero.
type sitesReader struct {
	sites   *Sites
	strings []string
	rest    []byte
	err     error
	// left is the memory that what follows may take, in bytes.
	left int
}

// errSitesRoom is the error of a record for which there is no room.
var errSitesRoom = errors.New("the sites take more memory than they may")

// room reports whether there is room for n values of so many bytes, and counts it. A file of the largest size could be decoded to
// sixteen times as much.
func (r *sitesReader) room(n int, size uintptr) bool {
	if r.left -= n * int(size); r.left < 0 {
		r.fail(errSitesRoom)
	}
	return r.err == nil
}

func (r *sitesReader) fail(err error) {
	if r.err == nil {
		r.err, r.rest = err, nil
	}
}

func (r *sitesReader) unsigned() uint64 {
	value, n := binary.Uvarint(r.rest)
	if r.err != nil || n <= 0 {
		r.fail(errors.New("a value goes beyond the record"))
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// small reads a value of at most most.
func (r *sitesReader) small(most uint64) uint64 {
	value := r.unsigned()
	if value > most {
		r.fail(fmt.Errorf("the value %d: expected at most %d", value, most))
		return 0
	}
	return value
}

func (r *sitesReader) text() string {
	number := r.small(uint64(len(r.strings)))
	if number == 0 {
		return ""
	}
	return r.strings[number-1]
}

// count reads the number of things that follow, each of at least so many bytes. A class file has at most as many of each as a u2
// can count, and one site more: the entry of a method.
func (r *sitesReader) count(bytes int) int {
	return int(r.small(min(uint64(len(r.rest)/bytes), math.MaxUint16+1)))
}

func (r *sitesReader) record(tag byte) {
	switch tag {
	case sitesString:
		if r.room(1, 3*unsafe.Sizeof("")+uintptr(len(r.rest))) { // the slice's growth and the allocator's rounding included
			r.strings = append(r.strings, string(r.rest))
		}
	case sitesClass:
		if c := r.class(); r.room(1, 2*unsafe.Sizeof(c)) {
			r.sites.Classes = append(r.sites.Classes, c)
		}
	case sitesRedefined:
		if name := r.text(); r.room(1, 2*unsafe.Sizeof(name)) {
			r.sites.Redefined = append(r.sites.Redefined, name)
		}
	case sitesEnd:
		r.sites.Full = true
	default:
		r.fail(fmt.Errorf("the tag %q is unknown", tag))
	}
}

func (r *sitesReader) class() SiteClass {
	c := SiteClass{Name: r.text(), Super: r.text(), Interface: r.unsigned()&sitesInterface != 0}
	if n := r.count(4); r.room(n, unsafe.Sizeof(SiteTarget{})) {
		c.Targets = make([]SiteTarget, n)
	}
	for i := range c.Targets {
		c.Targets[i] = SiteTarget{r.text(), r.text(), r.text(), r.unsigned()&sitesPolymorphic != 0}
	}
	if n := r.count(4); r.room(n, unsafe.Sizeof(SiteMethod{})) {
		c.Methods = make([]SiteMethod, n)
	}
	for i := range c.Methods {
		m := &c.Methods[i]
		m.Name, m.Descriptor = r.text(), r.text()
		flags := r.unsigned()
		m.Native, m.Static = flags&sitesNative != 0, flags&sitesStatic != 0
		m.Upcall = Occasions(r.small(math.MaxUint8))
		if flags&sitesCode != 0 {
			m.Code = r.code(uint64(len(c.Targets)))
		}
	}
	return c
}

func (r *sitesReader) code(targets uint64) []Site {
	n := r.count(2)
	if !r.room(n, unsafe.Sizeof(Site{})) {
		return nil
	}
	code := make([]Site, n)
	var bci uint64
	for i := range code {
		bci += r.small(math.MaxUint16)
		if bci > math.MaxUint16 {
			r.fail(fmt.Errorf("the bytecode index %d: expected at most %d", bci, math.MaxUint16))
		}
		occasions := r.small(math.MaxUint8)
		code[i] = Site{BCI: uint16(bci), Occasions: Occasions(occasions &^ sitesCalls), Target: -1}
		if occasions&sitesCalls != 0 {
			code[i].Opcode = uint8(r.small(math.MaxUint8))
			code[i].Target = int32(r.small(targets)) - 1
		}
	}
	return code
}
