package triage

import "misstep/signature"

// Kinds of differences, as the agent and signatures name them.
const (
	truncated      = "truncated"
	missing        = "missing"
	extra          = "extra"
	foreign        = "foreign"
	swapped        = "swapped"
	wrongMethod    = "wrong-method"
	wrongIndex     = "wrong-bci"
	errorCode      = "code"
	impossibleEdge = "impossible-edge"
)

// Family is a group of checks: the nature of their reference and the start of their walks decide which rules apply.
type Family string

// Families.
const (
	// Entry checks compare two walks at a method's entry: both begin at the same frame, and the reference is complete.
	Entry Family = "entry"
	// Bracket compares a walk in a signal handler with a complete one taken a moment later.
	Bracket Family = "bracket"
	// Sample compares a walk in a signal handler with the instrumented methods that the thread is in. Adjacent frames of that
	// reference are not edges.
	Sample Family = "sample"
	// Edge checks test whether the bytecode of each caller can make the call. Their reference is the stack up to the caller.
	Edge Family = "edge"
	// Recording checks judge a recording by itself: there are no stacks.
	Recording Family = "recording"
)

// Facts are the results of examine: everything that the rules look at. Numbers are 0 where there is nothing to count.
type Facts struct {
	Check      string `fact:"check"`
	Kind       string `fact:"kind that the agent gave it"`
	Family     Family `fact:"family of checks"`
	Sampler    string `fact:"sampler"`
	FromSignal bool   `fact:"taken in a signal handler"`

	ReferenceFrames int    `fact:"frames of the reference"`
	SuspectFrames   int    `fact:"frames of the suspect"`
	NumFrames       int    `fact:"num_frames of the suspect"`
	Bottom          string `fact:"suspect's bottom frame"`

	// The instruction that the signal hit, and what follows from it.
	State       string `fact:"top state"`
	Stage       string `fact:"stage of the top frame"`
	StageBy     string `fact:"stage known by"`
	Unfinished  bool   `fact:"top frame unfinished"`
	Single      bool   `fact:"top frame stands for itself only"`
	Anchored    bool   `fact:"walk begins at the thread's anchor"`
	Stub        string `fact:"stub above the first Java frame"`
	Lost        bool   `fact:"walk ends at an address of nothing"`
	Misled      bool   `fact:"walk began elsewhere than where the thread was"`
	TopExplains bool   `fact:"top explains the difference"`

	// How far the two stacks agree.
	Agreed       int             `fact:"frames that agree from the top"`
	Divergence   int             `fact:"frames that agree from the bottom"`
	Edge         signature.Place `fact:"edge where the stacks part"`
	NativeCaller bool            `fact:"edge's caller is native"`
	NearTop      bool            `fact:"stacks part near the top"`
	Astray       bool            `fact:"last frame kept has another bytecode index"`
	SameBottom   bool            `fact:"bottom frames are the same"`
	BottomLost   bool            `fact:"all but the bottom frame kept"`
	Frozen       bool            `fact:"frames of the virtual thread missing"`

	// Where the walk, from the top down, first leaves the reference. For a sample, only the frames of instrumented
	// methods count.
	Right       int             `fact:"frames right from the top"`
	AgentFrames int             `fact:"agent's own frames on top"`
	Shape       string          `fact:"kind of the first difference"`
	Departure   signature.Place `fact:"place of the first difference"`
	OtherIndex  string          `fact:"method above it with another bytecode index"`
	Kept        int             `fact:"frames of the reference that are right from the top and the bottom"`
	OnlyTopLost bool            `fact:"right but for the uppermost frames"`

	// Where the suspect ends.
	Upcall              string `fact:"upcall at the bottom"`
	UpcallAbove         string `fact:"upcall above the bottom"`
	BottomLinker        bool   `fact:"bottom is a method handle's linker"`
	AtLinker            bool   `fact:"cut off at a method handle's linker"`
	ConstructsThrowable bool   `fact:"bottom constructs a throwable"`
	ThrownByVM          bool   `fact:"bottom constructs what the VM throws"`
	DeoptimisedCaller   string `fact:"deoptimised caller"`
	OpenSeam            bool   `fact:"suspect enters the carrier above the bottom of the virtual thread"`
	BottomContinuation  bool   `fact:"bottom is of a continuation"`
	PartsAtContinuation bool   `fact:"suspect is in a continuation where the stacks part"`
	CallerWithoutIndex  bool   `fact:"edge's caller has no bytecode index"`

	// Of a recording.
	Recorded string `fact:"what is wrong in the recording"`

	reference, suspect stack
	callee, caller     *frame // of Edge
}
