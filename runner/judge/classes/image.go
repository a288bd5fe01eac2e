package classes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A JDK's lib/modules, of 9 and later (src/java.base/share/native/libjimage/imageFile.hpp): a header, a table that redirects
// hashes, the offsets of the locations, the locations, strings, and the resources. Numbers have the order of the machine's bytes.
const (
	imageMagic       = 0xcafedada
	imageHeaderBytes = 28
	hashMultiplier   = 0x01000193
	// mostImageIndex bounds the tables that are kept in memory; those of JDK 28 have 2 MiB.
	mostImageIndex = 256 << 20
)

// Attributes of a location.
const (
	attributeEnd = iota
	attributeModule
	attributeParent
	attributeBase
	attributeExtension
	attributeOffset
	attributeCompressed
	attributeUncompressed
	attributeCount
)

// image is the index of a file of this format. It does not change.
type image struct {
	file               io.ReaderAt
	redirect, offsets  []byte
	locations, strings []byte
	length             uint32
	resources          int64
}

// ErrImage is wrapped by errors about a lib/modules that cannot be read.
var ErrImage = errors.New("not an image of a JDK")

// openImage reads the index.
func openImage(file io.ReaderAt) (*image, error) {
	head := make([]byte, imageHeaderBytes)
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("%w: its header: %w", ErrImage, err)
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(head[4*i:]) }
	if word(0) != imageMagic {
		return nil, fmt.Errorf("%w of this byte order: it begins with %#x", ErrImage, word(0))
	}
	if major := word(1) >> 16; major != 1 {
		return nil, fmt.Errorf("%w: its format has version %d; known is 1", ErrImage, major)
	}
	length, locations, texts := word(4), word(5), word(6)
	size := 8*uint64(length) + uint64(locations) + uint64(texts)
	if length == 0 || size > mostImageIndex {
		return nil, fmt.Errorf("%w: its index has %d bytes; the limit is %d", ErrImage, size, mostImageIndex)
	}
	if _, err := file.ReadAt(make([]byte, 1), imageHeaderBytes+int64(size)-1); err != nil { // before as much is allocated
		return nil, fmt.Errorf("%w: its index: %w", ErrImage, err)
	}
	index := make([]byte, size)
	if _, err := file.ReadAt(index, imageHeaderBytes); err != nil {
		return nil, fmt.Errorf("%w: its index: %w", ErrImage, err)
	}
	m := &image{file: file, length: length, resources: imageHeaderBytes + int64(size)}
	m.redirect, index = index[:4*length], index[4*length:]
	m.offsets, index = index[:4*length], index[4*length:]
	m.locations, m.strings = index[:locations], index[locations:]
	return m, nil
}

func hashOf(text string, seed uint32) uint32 {
	for i := range len(text) {
		seed = seed*hashMultiplier ^ uint32(text[i])
	}
	return seed & 0x7fffffff
}

func (m *image) text(offset uint64) string {
	if offset >= uint64(len(m.strings)) {
		return ""
	}
	text, _, _ := strings.Cut(string(m.strings[offset:min(offset+1<<16, uint64(len(m.strings)))]), "\x00")
	return text
}

// location returns the attributes of a resource by its name, /module/package/Name.class; false if there is none.
func (m *image) location(name string) (attributes [attributeCount]uint64, found bool) {
	index := hashOf(name, hashMultiplier) % m.length
	switch value := int32(binary.LittleEndian.Uint32(m.redirect[4*index:])); {
	case value > 0:
		index = hashOf(name, uint32(value)) % m.length
	case value < 0:
		index = uint32(-1 - value)
	default:
		return attributes, false
	}
	if index >= m.length {
		return attributes, false
	}
	offset := binary.LittleEndian.Uint32(m.offsets[4*index:])
	if uint64(offset) > uint64(len(m.locations)) {
		return attributes, false
	}
	r := cursor{data: m.locations, at: int(offset)}
	for {
		head := r.u1()
		kind := head >> 3
		if r.err != nil {
			return attributes, false
		}
		if kind == attributeEnd {
			break
		}
		var value uint64
		for _, b := range r.take(int(head&7) + 1) {
			value = value<<8 | uint64(b)
		}
		if kind < attributeCount { // 28 has one more: flags of preview versions
			attributes[kind] = value
		}
	}
	return attributes, m.name(attributes) == name
}

func (m *image) name(attributes [attributeCount]uint64) string {
	var b strings.Builder
	if module := m.text(attributes[attributeModule]); module != "" {
		b.WriteString("/" + module + "/")
	}
	if parent := m.text(attributes[attributeParent]); parent != "" {
		b.WriteString(parent + "/")
	}
	b.WriteString(m.text(attributes[attributeBase]))
	if extension := m.text(attributes[attributeExtension]); extension != "" {
		b.WriteString("." + extension)
	}
	return b.String()
}

// read returns a resource by its name, nil if there is none.
func (m *image) read(name string) ([]byte, error) {
	a, found := m.location(name)
	if !found {
		return nil, nil
	}
	if a[attributeCompressed] != 0 {
		return nil, fmt.Errorf("%s is compressed in the image (jlink --compress), which is not read: "+
			"give the JDK's JMODs as class path", name)
	}
	size := a[attributeUncompressed]
	if size > maxClassBytes {
		return nil, fmt.Errorf("%w: %s has %d bytes; the limit is %d", ErrImage, name, size, maxClassBytes)
	}
	data := make([]byte, size)
	if _, err := m.file.ReadAt(data, m.resources+int64(a[attributeOffset])); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// find returns the class file of a class, whose name has slashes; nil if there is none. The image says which module has the
// package.
func (m *image) find(name string) ([]byte, error) {
	slash := strings.LastIndexByte(name, '/')
	if slash < 0 {
		return nil, nil
	}
	modules, err := m.read("/packages/" + strings.ReplaceAll(name[:slash], "/", "."))
	if err != nil {
		return nil, err
	}
	// Flags, whose meaning changed in 27, and where the module's name is: most modules have but empty parents of a package.
	for ; len(modules) >= 8; modules = modules[8:] {
		module := m.text(uint64(binary.LittleEndian.Uint32(modules[4:])))
		if data, err := m.read("/" + module + "/" + name + ".class"); data != nil || err != nil {
			return data, err
		}
	}
	return nil, nil
}

func (m *image) class(name string) ([][]byte, error) {
	data, err := m.find(name)
	if data == nil {
		return nil, err
	}
	return [][]byte{data}, err
}
