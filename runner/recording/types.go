package recording

import "fmt"

// Record is what a stream consists of: *Chunk, *Event, *Lost, *Setting, *Pool, *Link, *Differing, *Fault, *Window, *Touched or
// *Problem.
type Record interface{ record() }

func (*Chunk) record()     {}
func (*Event) record()     {}
func (*Lost) record()      {}
func (*Setting) record()   {}
func (*Pool) record()      {}
func (*Link) record()      {}
func (*Differing) record() {}
func (*Fault) record()     {}
func (*Window) record()    {}
func (*Problem) record()   {}

// Chunk is the header of a chunk. The records that follow, up to the next chunk, are from it.
type Chunk struct {
	// Index of the chunk in the recording, from 0.
	Index int
	// Offset of the chunk in the file, and its size, both in bytes; of a cut chunk the size of what could be read.
	Offset, Bytes int64
	// StartNanos since the epoch; DurationNanos from there.
	StartNanos, DurationNanos int64
	// StartTicks is the events' clock at StartNanos.
	StartTicks, TicksPerSecond int64
	// State is 0 when the recorder finished the chunk, else its number of flushes, or 255 while it was writing the header.
	State uint8
	// Last says that the recorder meant no other chunk to follow.
	Last bool
}

// Event is an event with a stack trace. What it points to is shared by the events of its chunk.
type Event struct {
	// Type is the full name, as "jdk.ExecutionSample".
	Type string
	// StartNanos since the epoch, from the ticks by the header's clock, truncated to whole nanoseconds.
	StartNanos int64
	// DurationNanos is 0 where the type has no duration, PeriodNanos where it has no sampling period.
	DurationNanos, PeriodNanos int64
	// Thread that was sampled, or that committed the event; nil where there is none or the chunk lacks it.
	Thread *Thread
	// Stack is nil where there is none or the chunk lacks it.
	Stack *Stack
	// State of the thread, as "STATE_RUNNABLE"; empty where the type has none.
	State string
	// Biased and Failed are fields of jdk.CPUTimeSample (JEP 509).
	Biased, Failed Truth
}

// Truth is the value of a field that a type may lack.
type Truth uint8

// The values of a field that a type may lack.
const (
	Unspecified Truth = iota
	False
	True
)

// Thread is a thread as its chunk describes it.
type Thread struct {
	// Constant is the thread's id in the recording.
	Constant uint64
	// OS is the kernel's thread id, 0 for virtual threads; Java is the thread's own, 0 for those of the VM.
	OS, Java int64
	Name     string
	// Group is the thread group's name.
	Group string
	// Virtual is the field of that name (JDK 21 and later).
	Virtual bool
}

// Stack is a stack trace.
type Stack struct {
	// Constant is the stack's id in its chunk.
	Constant uint64
	// Truncated says that the recorder left out outer frames; Cut that the helper did.
	Truncated, Cut bool
	// Frames, innermost first.
	Frames []Frame
}

// Frame is one frame of a stack.
type Frame struct {
	// Method is nil where the chunk lacks it.
	Method *Method
	// BCI is the bytecode index, -1 where it is unknown.
	BCI int32
	// Line in the source, -1 or 0 where it is unknown.
	Line int32
	Kind FrameKind
}

// FrameKind is how a frame was executed.
type FrameKind uint8

// The kinds of frames; the last two are those of other profilers.
const (
	UnknownFrame FrameKind = iota
	Interpreted
	Compiled
	Inlined
	Native
	Cpp
	Kernel
)

// Method is a method as its chunk describes it. Two methods that differ only in the loader of their class have two constants.
type Method struct {
	// Constant is the method's id in its chunk, ClassConstant its class's.
	Constant, ClassConstant uint64
	// Class is the binary name with dots. Empty strings are constants that the chunk lacks.
	Class, Name, Descriptor string
	// Loader is the class loader's name or else its class's; "bootstrap" for the boot loader.
	Loader    string
	Modifiers uint32
	// Hidden and ClassHidden are set by the VM: frames of method handles, hidden classes.
	Hidden, ClassHidden bool
}

// Lost is a jdk.CPUTimeSamplesLost: samples for which a thread had no room.
type Lost struct {
	StartNanos int64
	Thread     *Thread
	Samples    int64
}

// Setting is the value of a setting of an event type, as of the time of the chunk. What the JVM says of itself comes as one: the
// type is jdk.JVMInformation, the name that of its field jvmVersion, JVMStart or JVMName.
type Setting struct{ Type, Name, Value string }

// JVMStart is the name of the setting that says when the JVM started, in milliseconds since the epoch, JVMName that of the one that
// says what the JVM calls itself without its version.
const (
	JVMStart = "jvmStartTime"
	JVMName  = "jvmName"
)

// Pool counts the constants of one type in a chunk.
type Pool struct {
	Type string
	// Defined in the chunk, and Referenced by its events and constants: distinct ids of each Link, without 0, which means none.
	Defined, Referenced int
}

// Differing counts the ids of a type that a chunk defines again with other contents. Contents are compared by what they say, not by
// the ids of the symbols in them. A jdk.types.ChunkHeader is defined anew at each flush, which is no fault.
type Differing struct {
	Type string
	// Fields that differ, with commas.
	Fields string
	IDs    int
}

// Link counts the references from one field of the events or constants of a type to constants of another, in a chunk. The Links of
// a chunk, and its Faults, are there only if all of the chunk could be read; otherwise a Problem says why not.
type Link struct {
	// Type of the constants.
	Type string
	// From is the type of the event or constant, Field the field in it or in a structure that it contains; empty for a string whose
	// constant is another one.
	From, Field string
	// Referenced counts the distinct ids, without 0; Lacking those that the chunk does not define.
	Referenced, Lacking int
}

// Window is when the events of one type in a chunk ended: an event is written to the chunk that is open at its end.
type Window struct {
	Type   string
	Events int64
	// FirstNanos and LastNanos are the first and the last end of an event, after the chunk's start.
	FirstNanos, LastNanos int64
}

// Fault is a constant of a chunk that is missing or ambiguous. At most 100 that differ only in
// the id are reported per chunk: Link and Differing have the counts.
type Fault struct {
	Kind FaultKind
	// Type and ID of the constant.
	Type string
	ID   uint64
	// From is the type of the event or constant that refers to it, Position where it does so first, in bytes in the chunk.
	From     string
	Position int64
	// Field of From that refers to it; if it is defined twice, the fields of Type that differ, with commas.
	Field string
}

// FaultKind is what is wrong with a constant.
type FaultKind uint8

// The kinds of faults.
const (
	UnspecifiedFault FaultKind = iota
	// Lacking: the chunk refers to the constant and does not define it, so that parsers show nothing in its place.
	Lacking
	// Twice: the chunk defines the id again with other contents. Position is that of an earlier definition, which parsers that
	// follow the chain of checkpoints from its end do not use.
	Twice
)

// Problem is a fault of the recording. What was read before it stays. It comes after its Chunk, if that could be read at all.
type Problem struct {
	// Chunk is the index of the chunk, Offset the place in the file.
	Chunk   int
	Offset  int64
	Message string
	Kind    ProblemKind
	// Missing is the number of bytes that the chunk has more by its header than the file, 0 where that is not the problem.
	Missing int64
}

// ProblemKind tells who or what is to blame for a problem.
type ProblemKind uint8

// The kinds of problems.
const (
	UnspecifiedProblem ProblemKind = iota
	// CutFile: the file ends in the chunk.
	CutFile
	// Unfinished: the recorder had not finished the chunk; the JVM died, or was still writing.
	Unfinished
	// Limit: a limit of the reading was reached.
	Limit
	// Layout: the bytes are not what the format demands.
	Layout
	// Parser: JMC failed.
	Parser
)

func (p *Problem) Error() string {
	return fmt.Sprintf("chunk %d, offset %d of the recording: %s", p.Chunk, p.Offset, p.Message)
}

// Summary counts what was read.
type Summary struct {
	// Complete is false when the output reached its limit.
	Complete bool
	Chunks   int
	Problems int
	// Events that have a stack trace's field.
	Events int64
	// LostBytes is the sum of jdk.DataLoss, LostSamples that of jdk.CPUTimeSamplesLost.
	LostBytes, LostSamples int64
	// Types is the number of events of each type that occurred, those without stack traces included.
	Types map[string]int64
}
