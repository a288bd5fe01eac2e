package recording

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// element is an element of a chunk's metadata; attributes are pairs of key and value, "" for null.
type element struct {
	name       string
	attributes []string
	children   []element
}

// appendValues appends compressed integers and UTF-8 strings as JFR writes them.
func appendValues(data []byte, values ...any) []byte {
	for _, value := range values {
		switch v := value.(type) {
		case int:
			data = binary.AppendUvarint(data, uint64(v))
		case string:
			if v == "" {
				data = append(data, 0) // null
				continue
			}
			data = append(binary.AppendUvarint(append(data, 3), uint64(len(v))), v...)
		case []byte:
			data = append(data, v...)
		}
	}
	return data
}

// sized puts its own size before the rest of an event, in four bytes.
func sized(rest []byte) []byte {
	size := len(rest) + 4
	return append([]byte{byte(size) | 0x80, byte(size>>7) | 0x80, byte(size>>14) | 0x80, byte(size >> 21)}, rest...)
}

// forged is a finished chunk with metadata and events, of which the last checkpoint is where the header says.
func forged(root element, events ...[]byte) []byte {
	var texts []string
	index := map[string]int{}
	number := func(text string) int {
		if _, known := index[text]; !known {
			index[text] = len(texts)
			texts = append(texts, text)
		}
		return index[text]
	}
	var tree func(data []byte, e element) []byte
	tree = func(data []byte, e element) []byte {
		data = appendValues(data, number(e.name), len(e.attributes)/2)
		for _, a := range e.attributes {
			data = appendValues(data, number(a))
		}
		data = appendValues(data, len(e.children))
		for _, c := range e.children {
			data = tree(data, c)
		}
		return data
	}
	elements := tree(nil, root)
	metadata := appendValues(nil, 0, 1, 0, 1, len(texts)) // type, start, duration, id
	for _, text := range texts {
		metadata = appendValues(metadata, text)
	}
	const header = 68
	body, constants := sized(append(metadata, elements...)), 0
	for _, e := range events {
		if e[0] == checkpointEvent {
			constants = header + len(body)
		}
		body = append(body, sized(e)...)
	}
	chunk := append([]byte("FLR\x00\x00\x02\x00\x00"), make([]byte, header-8)...)
	for i, field := range []int{header + len(body), constants, header, 1e18, 1e9, 1, 1e9} {
		binary.BigEndian.PutUint64(chunk[8+8*i:], uint64(field))
	}
	chunk[67] = 1 // compressed
	return append(chunk, body...)
}

// typeOf is an element of the metadata that describes a type.
func typeOf(id int, name string, fields ...element) element {
	return element{"class", []string{"id", strconv.Itoa(id), "name", name}, fields}
}

// simple is a type that stands for its only field.
func simple(id int, name string, of element) element {
	c := typeOf(id, name, of)
	c.attributes = append(c.attributes, "simpleType", "true")
	return c
}

func primitive(name string, of int) element {
	return element{"field", []string{"name", name, "class", strconv.Itoa(of)}, nil}
}

func pooled(name string, of int) element {
	f := primitive(name, of)
	f.attributes = append(f.attributes, "constantPool", "true")
	return f
}

func array(f element) element {
	f.attributes = append(f.attributes, "dimension", "1")
	return f
}

func treeOf(classes ...element) element {
	return element{"root", nil, []element{{"metadata", nil, classes}}}
}

// The types of forged chunks.
const (
	longID = 4 + iota
	intID
	booleanID
	stringID
	timestampID
	symbolID
	classID
	loaderID
	methodID
	kindID
	frameID
	stackID
	stateID
	threadID
	sampleID
	settingsID
	lostID
)

// forgedTypes are those of a small recording, as JFR describes them.
func forgedTypes() element {
	start := element{"field", []string{"name", "startTime", "class", strconv.Itoa(longID)}, []element{
		{"annotation", []string{"class", strconv.Itoa(timestampID), "value", "TICKS"}, nil},
	}}
	return treeOf(
		typeOf(longID, "long"), typeOf(intID, "int"), typeOf(booleanID, "boolean"), typeOf(stringID, "java.lang.String"),
		typeOf(timestampID, "jdk.jfr.Timestamp"),
		simple(symbolID, "jdk.types.Symbol", primitive("string", stringID)),
		typeOf(classID, "java.lang.Class", pooled("classLoader", loaderID), pooled("name", symbolID)),
		typeOf(loaderID, "jdk.types.ClassLoader", pooled("type", classID), pooled("name", symbolID)),
		typeOf(methodID, "jdk.types.Method", pooled("type", classID), pooled("name", symbolID), pooled("descriptor", symbolID),
			primitive("modifiers", intID), primitive("hidden", booleanID)),
		simple(kindID, "jdk.types.FrameType", primitive("description", stringID)),
		typeOf(frameID, "jdk.types.StackFrame", pooled("method", methodID), primitive("lineNumber", intID),
			primitive("bytecodeIndex", intID), pooled("type", kindID)),
		typeOf(stackID, "jdk.types.StackTrace", primitive("truncated", booleanID), array(primitive("frames", frameID))),
		simple(stateID, "jdk.types.ThreadState", primitive("name", stringID)),
		typeOf(threadID, "java.lang.Thread", primitive("osName", stringID), primitive("osThreadId", longID),
			primitive("javaName", stringID), primitive("javaThreadId", longID), primitive("virtual", booleanID)),
		typeOf(sampleID, "jdk.ExecutionSample", start, pooled("sampledThread", threadID), pooled("stackTrace", stackID),
			pooled("state", stateID)),
		typeOf(settingsID, "jdk.ActiveSetting", start, primitive("id", longID), primitive("name", stringID),
			primitive("value", stringID)),
		typeOf(lostID, "jdk.CPUTimeSamplesLost", start, primitive("lostSamples", intID), pooled("eventThread", threadID)),
	)
}

// checkpoint is one that leads to another one by so many bytes; pools are types, each with constants.
func checkpoint(delta int, pools ...[]byte) []byte {
	to := []byte{0}
	if delta != 0 { // nine bytes, the last one with eight bits
		to = []byte{8: byte(delta >> 56)}
		for i := range 8 {
			to[i] = 0x80 | byte(delta>>(7*i))
		}
	}
	return slices.Concat(appendValues(nil, checkpointEvent, 0, 0, to, 0, len(pools)), slices.Concat(pools...))
}

// poolOf has the constants of a type; each has its id and its fields.
func poolOf(of int, each ...[]byte) []byte {
	return slices.Concat(appendValues(nil, of, len(each)), slices.Concat(each...))
}

// forgedRecording has a sample of two frames, a setting, and samples that are lost.
func forgedRecording() []byte {
	v := func(values ...any) []byte { return appendValues(nil, values...) }
	return forged(forgedTypes(),
		checkpoint(0,
			poolOf(symbolID, v(1, "p/Main"), v(2, "work"), v(3, "()V"), v(4, "main"), v(5, "app")),
			poolOf(classID, v(1, 1, 1)),
			poolOf(loaderID, v(1, 0, 5)),
			poolOf(methodID, v(1, 1, 2, 3, 9, 0), v(2, 1, 4, 3, 9, 0)),
			poolOf(kindID, v(1, "JIT compiled"), v(2, "Interpreted")),
			poolOf(stackID, v(1, 0, 2, 1, 70, 7, 1, 2, 30, 3, 2)),
			poolOf(stateID, v(1, "STATE_RUNNABLE")),
			poolOf(threadID, v(1, "os", 100, "java", 8, 0)),
		),
		v(settingsID, 5, sampleID, "period", "10 ms"),
		v(sampleID, 7, 1, 1, 1),
		v(lostID, 9, 3, 1),
	)
}
