package recording

// The stream that java/ writes: the magic, then records. A record is a tag (one byte), the length of its payload in bytes, and the
// payload: values one after the other. A value is an unsigned LEB128 integer (u), one with zigzag encoding (z), or a string (s):
// its length in bytes and UTF-8. An index refers to the record of that tag with this number in the chunk, from 1; 0 is "absent".
// Each chunk record begins new tables, so that a reader holds what one chunk refers to. Values that follow those known here are
// ignored.
//
//	C chunk    u index, u offset in the file, u bytes, u startNanos, u durationNanos, u startTicks, u ticksPerSecond,
//	           u state (0: finished), u flags (1: compressed integers, 2: last chunk)
//	S string   s
//	T type     u name (S)
//	H thread   u constant id, u OS thread id, u Java thread id, u name (S), u thread group (S), u virtual
//	M method   u constant id, u class's constant id, u class (S), u loader (S), u name (S), u descriptor (S), u modifiers,
//	           u flags (1: method hidden, 2: class hidden)
//	K stack    u constant id, u flags (1: truncated by the recorder, 2: cut by the helper's limit), u frames,
//	           then for each, innermost first: u method (M), z bytecode index, z line, u kind (FrameKind)
//	E event    u type (T), z start in ns after the chunk's, u duration in ns, u sampling period in ns, u thread (H), u stack (K),
//	           u state (S), u Truth of biased * 4 + Truth of failed
//	L lost     z start in ns after the chunk's, u thread (H), u samples
//	G setting  u event type (S), u name (S), u value (S)
//	P pool     u type (S), u ids defined, u ids referred to (the sum of its links)
//	R link     u type (S), u referring type (S), u its field (S), u ids referred to, u of them not defined
//	W twice    u type (S), u the fields that differ, with commas (S), u ids that are defined again with these fields changed
//	U lacking  u type (S), u constant id, u referring type (S), u position of the first reference in the chunk, u its field (S)
//	D example   u type (S), u constant id, u type (S), u position in the chunk of a definition that differs from the last one,
//	           u the fields that differ, with commas (S)
//	V window   u event type (S), u events, z first end, z last end: in ns after the chunk's start
//	X problem  u chunk index, u offset in the file, s message, u ProblemKind
//	N count    s event type, u events: of all chunks, at the end
//	Z end      u complete (0: the output reached its limit), u chunks, u problems, u events with a stack trace, u bytes lost,
//	           u samples lost
const magic = "MISSREC2"

const (
	tagChunk   = 'C'
	tagString  = 'S'
	tagType    = 'T'
	tagThread  = 'H'
	tagMethod  = 'M'
	tagStack   = 'K'
	tagEvent   = 'E'
	tagLost    = 'L'
	tagSetting = 'G'
	tagPool    = 'P'
	tagLink    = 'R'
	tagDiffer  = 'W'
	tagWindow  = 'V'
	tagLacking = 'U'
	tagTwice   = 'D'
	tagProblem = 'X'
	tagCount   = 'N'
	tagEnd     = 'Z'
)

const (
	// maxRecord bounds a record's payload: a stack of the most frames that JFR records (2,048) needs a thirtieth.
	maxRecord = 1 << 20
	// maxTable bounds the records of one table in a chunk.
	maxTable = 1 << 22
)
