package classes

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
)

// builder makes class files.
type builder struct {
	pool    []byte
	entries uint16
	texts   map[string]uint16
}

func newBuilder() *builder { return &builder{entries: 1, texts: map[string]uint16{}} }

func u2(values ...uint16) (b []byte) {
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}

func u4(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func (b *builder) entry(tag uint8, data []byte) uint16 {
	b.pool = append(append(b.pool, tag), data...)
	b.entries++
	return b.entries - 1
}

func (b *builder) text(s string) uint16 {
	if b.texts[s] == 0 {
		b.texts[s] = b.entry(tagUtf8, append(u2(uint16(len(s))), s...))
	}
	return b.texts[s]
}

func (b *builder) class(name string) uint16 { return b.entry(tagClass, u2(b.text(name))) }

func (b *builder) method(owner, name, descriptor string) uint16 {
	both := b.entry(tagNameAndType, u2(b.text(name), b.text(descriptor)))
	if owner == "" {
		return b.entry(tagInvokeDynamic, u2(0, both))
	}
	return b.entry(tagMethodref, u2(b.class(owner), both))
}

func (b *builder) attribute(name string, data []byte) []byte {
	return join(u2(b.text(name)), u4(len(data)), data)
}

// code is a method with these instructions and lines, pairs of an index and a number.
func (b *builder) code(flags uint16, name, descriptor string, instructions []byte, lines ...uint16) []byte {
	table := b.attribute("LineNumberTable", join(u2(uint16(len(lines)/2)), u2(lines...)))
	code := b.attribute("Code", join(u2(4, 4), u4(len(instructions)), instructions, u2(0), u2(1), table))
	return join(u2(flags, b.text(name), b.text(descriptor), 1), code)
}

func (b *builder) file(name, super string, flags uint16, methods ...[]byte) []byte {
	self, above := b.class(name), b.class(super)
	field := join(u2(0, b.text("field"), b.text("I"), 1), b.attribute("Synthetic", nil))
	return join(u4(classMagic), u2(0, 52, b.entries), b.pool, u2(flags, self, above), u2(1, above), // an interface
		u2(1), field, u2(uint16(len(methods))), join(methods...), u2(0))
}

// example is a class whose method main calls, allocates and branches back.
func example() []byte {
	b := newBuilder()
	b.entry(tagLong, make([]byte, 8))
	b.entries++ // a long takes two indices
	loop := []byte{
		0,         // 0 nop
		184, 0, 0, // 1 invokestatic
		186, 0, 0, 0, 0, // 4 invokedynamic
		182, 0, 0, // 9 invokevirtual of an array's clone
		167, 0xff, 0xf5, // 12 goto 1
		177, // 15 return
	}
	binary.BigEndian.PutUint16(loop[2:], b.method("p/Other", "help", "()V"))
	binary.BigEndian.PutUint16(loop[5:], b.method("", "get", "()Lp/F;"))
	binary.BigEndian.PutUint16(loop[10:], b.method("[I", "clone", "()Ljava/lang/Object;"))
	return b.file("p/Main", "java/lang/Object", 0x21,
		b.code(accStatic, "main", "([Ljava/lang/String;)V", loop, 0, 7, 4, 8, 12, 7),
		join(u2(accNative|accStatic, b.text("native0"), b.text("()V"), 0)),
		b.code(accStatic, "<clinit>", "()V", []byte{177}, 0, 3))
}

// An interface has no superclass, as the JVM and the agent see it.
func TestClassFileOfAnInterface(t *testing.T) {
	c, err := Parse(newBuilder().file("p/Shape", "java/lang/Object", accInterface|0x0401))
	require.NoError(t, err)
	assert.True(t, c.Interface)
	assert.Empty(t, c.Super)
}

func TestClassFile(t *testing.T) {
	c, err := Parse(example())
	require.NoError(t, err)
	assert.Equal(t, "p/Main", c.Name)
	assert.Equal(t, "java/lang/Object", c.Super)
	assert.False(t, c.Interface)
	assert.Equal(t, []agent.SiteTarget{
		{Owner: "p/Other", Name: "help", Descriptor: "()V"},
		{Name: "get", Descriptor: "()Lp/F;", Polymorphic: true},
		{Owner: "java/lang/Object", Name: "clone", Descriptor: "()Ljava/lang/Object;"},
	}, c.Targets)
	require.Len(t, c.Methods, 3)
	invoke := agent.Resolving | agent.Linking | agent.Finalising
	assert.Equal(t, agent.SiteMethod{Name: "main", Descriptor: "([Ljava/lang/String;)V", Static: true, Code: []agent.Site{
		{BCI: 0, Occasions: agent.Compiling, Target: -1},
		{BCI: 1, Occasions: invoke | agent.Initialising | agent.Compiling, Opcode: opInvokestatic, Target: 0},
		{BCI: 4, Occasions: invoke, Opcode: opInvokedynamic, Target: 1},
		{BCI: 9, Occasions: invoke, Opcode: opInvokevirtual, Target: 2},
		{BCI: 12, Occasions: agent.Compiling | agent.Resolving, Target: -1},
		{BCI: 15, Occasions: agent.Resolving | agent.Finalising, Target: -1},
	}}, c.Methods[0])
	assert.Equal(t, agent.SiteMethod{Name: "native0", Descriptor: "()V", Static: true, Native: true}, c.Methods[1])
	assert.Equal(t, agent.Initialising, c.Methods[2].Upcall)
}

func TestLinesOfInstructions(t *testing.T) {
	c, err := Parse(example())
	require.NoError(t, err)
	for bci, want := range map[int32]int32{-1: 7, 0: 7, 3: 7, 4: 8, 11: 8, 12: 7, 15: 7} {
		assert.Equal(t, want, c.Line("main", "([Ljava/lang/String;)V", bci), "bytecode index %d", bci)
	}
	assert.Zero(t, c.Line("absent", "()V", 0))
	assert.True(t, c.Has("native0", "()V"))
	assert.False(t, c.Has("native0", "()I"))
}

func TestLengthsOfInstructions(t *testing.T) {
	for op, want := range map[int]uint8{
		0: 1, 16: 2, 17: 3, 18: 2, 19: 3, 21: 2, 26: 1, 53: 1, 54: 2, 59: 1, 132: 3, 152: 1, 153: 3, 168: 3, 169: 2, 170: 0, 172: 1,
		178: 3, 184: 3, 185: 5, 186: 5, 187: 3, 188: 2, 189: 3, 190: 1, 192: 3, 194: 1, 196: 0, 197: 4, 198: 3, 200: 5, 201: 5, 202: 0,
	} {
		assert.Equal(t, want, lengths[op], "opcode %d", op)
	}
}

func TestSwitches(t *testing.T) {
	table := join([]byte{0, opTableswitch, 0, 0}, u4(20), u4(1), u4(2), u4(-1), u4(8))
	length, branch, back := instruction(table, 1)
	assert.Equal(t, len(table)-1, length)
	assert.Equal(t, -1, branch)
	assert.True(t, back)
	lookup := join([]byte{opLookupswitch, 0, 0, 0}, u4(20), u4(1), u4(-7), u4(16))
	length, _, back = instruction(lookup, 0)
	assert.Equal(t, len(lookup), length)
	assert.False(t, back, "the key is no offset")
	length, _, _ = instruction(lookup[:15], 0)
	assert.Zero(t, length)
}

func TestBrokenClassFiles(t *testing.T) {
	whole := example()
	for size := range whole[:len(whole)-2] { // the attributes of the class are not read
		_, err := Parse(whole[:size])
		require.ErrorIs(t, err, ErrClass, "cut off after %d bytes", size)
	}
	b := newBuilder()
	_, err := Parse(b.file("p/A", "p/B", 0, b.code(0, "m", "()V", []byte{0, 203}, 0, 1)))
	require.ErrorContains(t, err, "m()V: bytecode index 1")
	b = newBuilder()
	_, err = Parse(b.file("p/A", "p/B", 0, b.code(0, "m", "()V", []byte{184, 0xff, 0xff})))
	require.ErrorContains(t, err, "constant 65535")
}

func FuzzParse(f *testing.F) {
	f.Add(example())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			require.ErrorIs(t, err, ErrClass)
			return
		}
		for _, m := range c.Methods {
			last := -1
			for _, s := range m.Code {
				assert.Greater(t, int(s.BCI), last)
				last = int(s.BCI)
				assert.Less(t, int(s.Target), len(c.Targets))
			}
			c.Line(m.Name, m.Descriptor, int32(last))
		}
	})
}
