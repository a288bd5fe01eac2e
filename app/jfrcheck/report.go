package jfrcheck

import "time"

// Report is what a check of recordings found.
type Report struct {
	Recordings []Recording `json:"recordings"`
	// Checks in the order in which they are shown; those that were not made say why.
	Checks []Check `json:"checks"`
	// Faults are wrong for certain, the most frequent first. Doubts are not: a program may do what they show, if rarely.
	Faults []Fault `json:"faults"`
	Doubts []Fault `json:"doubts"`
	// Samplers, Threads and Methods count samples, most first. Threads and methods beyond those that are shown are in Others.
	Samplers []Sampler `json:"samplers"`
	Threads  []Thread  `json:"threads"`
	Methods  []Group   `json:"methods"`
	// Notes are what limits all of this.
	Notes []string `json:"notes,omitempty"`
	// Samples of all samplers, and those that faults touch; a sample with faults of two kinds may be counted twice. Class is what
	// the worst fault touches: samples, events or bookkeeping; empty without faults.
	Samples uint64 `json:"samples"`
	Touched uint64 `json:"touched"`
	Class   string `json:"class,omitempty"`
	// Verdict is the answer in a word: right, touched, unjudged or unproved.
	Verdict string `json:"verdict"`
}

// Recording is one file.
type Recording struct {
	File string `json:"file"`
	// Form is jfr, or how it was packed.
	Form   string `json:"form"`
	Bytes  int64  `json:"bytes"`
	Chunks int    `json:"chunks"`
	// Events that have a stack trace.
	Events int64 `json:"events"`
	// Begin and End are the times of its chunks.
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	// JVM that it was made by, as it calls itself (jdk.JVMInformation), empty where the recording does not say.
	JVM string `json:"jvm,omitempty"`
	// Writers of its chunks: jfr (HotSpot's), async-profiler, Datadog's profiler, native image or unknown writer.
	Writers []string `json:"writers"`
	writers writers
	// versions are those of all JVMs whose chunks it has.
	versions []string
	// Profiler that wrote it, as far as the recording shows it: jfr or async-profiler (and what is made of it).
	Profiler string `json:"profiler"`
	// LostBytes is what the recorder had no room for (jdk.DataLoss).
	LostBytes int64 `json:"lost_bytes,omitempty"`
	// Problems are places that could not be read.
	Problems []Problem `json:"problems,omitempty"`
	// ReadBytes are those of the chunks that were read, of Bytes; the rest was not judged. Damage is what it looks like, null for
	// none. MissingBytes are those that the last chunk has more by its header.
	ReadBytes    int64   `json:"read_bytes"`
	MissingBytes int64   `json:"missing_bytes,omitempty"`
	Damage       *Damage `json:"damage,omitempty"`
	// Salvaged chunks were written to another file.
	Salvaged int `json:"salvaged,omitempty"`
	// Incomplete says why not all of it was read, empty if all was.
	Incomplete string `json:"incomplete,omitempty"`
}

// Problem is a place of a recording that could not be read.
type Problem struct {
	Chunk   int    `json:"chunk"`
	Offset  int64  `json:"offset"`
	Message string `json:"message"`
}

// Check is the counts of one check.
type Check struct {
	Name string `json:"name"`
	// What it compares, in words, and its unit.
	What string `json:"what"`
	Unit string `json:"unit"`
	// Skipped is why it was not made, with the remedy; empty for one that was.
	Skipped string `json:"skipped,omitempty"`
	Right   uint64 `json:"right"`
	Wrong   uint64 `json:"wrong"`
	// Tolerated by rule, Void by reason.
	Tolerated map[string]uint64 `json:"tolerated,omitempty"`
	Void      map[string]uint64 `json:"void,omitempty"`
}

// Fault is one thing that is wrong, or doubtful, with an example.
type Fault struct {
	Check string `json:"check"`
	Kind  string `json:"kind"`
	// Place is where: the edge, the site, the constant.
	Place string `json:"place"`
	Count uint64 `json:"count"`
	// Touches is what it touches, samples, events or bookkeeping, by the references from events to it; Samples and Events count
	// them.
	Touches string `json:"touches"`
	Samples uint64 `json:"samples,omitempty"`
	Events  uint64 `json:"events,omitempty"`
	// Sampler is the type of event that shows it, empty where it is none's. Profiler wrote the recording, empty where all show it.
	Sampler  string `json:"sampler,omitempty"`
	Profiler string `json:"profiler,omitempty"`
	Detail   string `json:"detail,omitempty"`
	// Known is the id of the known bug that has such faults, empty for none (misstep known).
	Known string `json:"known,omitempty"`
	// Stack is an example, innermost frame first.
	Stack []string `json:"stack,omitempty"`
}

// Counts are those of the samples of a group.
type Counts struct {
	Samples uint64 `json:"samples"`
	// Empty samples have no stack trace, Failed ones by the JVM's own account; Truncated ones end before the bottom of the stack.
	Empty     uint64 `json:"empty"`
	Failed    uint64 `json:"failed"`
	Truncated uint64 `json:"truncated"`
	// Lost samples had no room (jdk.CPUTimeSamplesLost): they are none of Samples.
	Lost uint64 `json:"lost"`
	// Unknown samples have a frame whose method the recording lacks.
	Unknown uint64 `json:"unknown"`
	// Biased samples were moved to a safepoint (JEP 509).
	Biased uint64 `json:"biased"`
}

// Unusable is the share of what should have been sampled that has no whole stack.
func (c Counts) Unusable() float64 {
	if c.Samples+c.Lost == 0 {
		return 0
	}
	return float64(c.Empty+c.Truncated+c.Lost) / float64(c.Samples+c.Lost)
}

func (c *Counts) add(o Counts) {
	c.Samples += o.Samples
	c.Empty += o.Empty
	c.Failed += o.Failed
	c.Truncated += o.Truncated
	c.Lost += o.Lost
	c.Unknown += o.Unknown
	c.Biased += o.Biased
}

// Group is what samples are counted by, a method on top or a thread.
type Group struct {
	Name string `json:"name"`
	Counts
}

// Thread is a thread, or those of one name, with its samples.
type Thread struct {
	Group
	// Median and P90 of the time between two of its samples, as a Sampler's, by the sampler that has most of them.
	Median time.Duration `json:"median_ns"`
	P90    time.Duration `json:"p90_ns"`
}

// Sampler is one type of event that samplers write.
type Sampler struct {
	Event string `json:"event"`
	Counts
	// Asked is the interval as the recording's settings have it, empty where they say nothing.
	Asked string `json:"asked,omitempty"`
	// Median and P90 of the time between two samples of one thread, to within 5 %, over all threads; 0 with fewer than two samples.
	Median time.Duration `json:"median_ns"`
	P90    time.Duration `json:"p90_ns"`
}
