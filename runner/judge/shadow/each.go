package shadow

import (
	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/tapped"
	"misstep/runner/recording"
)

// Finding is what one walk is worth. Exactly one of its parts is set, none for a match.
type Finding struct {
	// Rule tolerates the difference. Void is why there is nothing to compare.
	Rule, Void string
	// Unwalkable says that the walker gave up and said so.
	Unwalkable bool
	// Mismatch has both stacks and the place that the signal hit. The suspect has Java frames only.
	Mismatch *misstepv1.Mismatch
}

// Judged reports whether the walk has a verdict.
func (f Finding) Judged() bool { return f.Void == "" && !f.Unwalkable }

// Instant is one call of a sampler's handler, and what two walkers made of it.
type Instant struct {
	Call agent.TapCall
	// Sampler of the recorded sample, as "jdk.CPUTimeSample" or "vm"; empty where the call left none in the recording.
	Sampler string
	// Sampled is what the recorded trace is worth, Walked what AsyncGetCallTrace answered in the call, nil where it was not asked.
	Sampled Finding
	Walked  *Finding
}

// Instants judges all that was visited, and gives each call of a handler whose thread has a shadow, in no order. It is an
// alternative to Verdicts.
func (j *Judge) Instants(use func(Instant)) {
	samples, known := j.judge()
	asking := *j
	asking.in.Source, asking.in.Walker = AsyncProfiler, "no"
	w := walks{Judge: &asking, roots: known, named: map[uint32]*recording.Method{}}
	taken := map[*agent.TapCall]bool{}
	for i, s := range samples {
		if s.call == nil || !s.call.Shadow || s.stand {
			continue
		}
		taken[s.call] = true
		at := Instant{
			Call: *s.call, Sampler: j.samplerOf(j.taken.Events[i]), Walked: w.judge(s.call),
			Sampled: Finding{Rule: s.rule, Void: s.void, Unwalkable: s.unwalkable},
		}
		if s.kind != "" {
			at.Sampled.Mismatch = j.mismatch(i, s)
			at.Sampled.Mismatch.Suspect = javaTrace(s.stack)
			at.Sampled.Mismatch.Suspect.Source, at.Sampled.Mismatch.Suspect.Sampler = string(j.in.Source), at.Sampler
		}
		use(at)
	}
	j.taken.Calls(func(c *agent.TapCall) {
		if c.Shadow && !taken[c] {
			use(Instant{Call: *c, Walked: w.judge(c)})
		}
	})
}

// javaTrace returns the frames that were compared.
func javaTrace(stack []frame) *misstepv1.Trace {
	t := &misstepv1.Trace{NumFrames: int32(len(stack))}
	for i := range stack {
		f := &stack[len(stack)-1-i]
		out := &misstepv1.Frame{Bci: f.bci}
		if f.raw != nil {
			out.ClassName, out.Method, out.Descriptor_ = f.raw.Class, f.raw.Name, f.raw.Descriptor
		}
		t.Frames = append(t.Frames, out)
	}
	return t
}

// walks judges what AsyncGetCallTrace answered in the calls, as a judge of the walker of async-profiler that asks it.
type walks struct {
	*Judge
	roots
	named map[uint32]*recording.Method
}

// judge compares the answer in a call with the shadow. It returns nil where AsyncGetCallTrace was not asked.
func (w walks) judge(c *agent.TapCall) *Finding {
	switch {
	case !c.Walked:
		return nil
	case c.Result <= 0:
		return &Finding{Unwalkable: true}
	}
	stack := &recording.Stack{Truncated: c.Cut}
	for _, f := range c.Frames {
		stack.Frames = append(stack.Frames, recording.Frame{Method: w.method(f.Method), BCI: f.BCI, Kind: kindOf(c)})
	}
	s := w.sample(&recording.Event{Stack: stack}, tapped.Found{Call: c})
	if s.sample == nil {
		return &Finding{Void: s.void, Unwalkable: s.unwalkable}
	}
	s.bottom = w.end(c.TID, s.stack)
	v := compare(s.sample)
	f := &Finding{Rule: v.rule, Void: v.void}
	if v.kind != "" {
		f.Mismatch = &misstepv1.Mismatch{
			Check: recipe.AsgctShadow, Kind: v.kind, Divergence: uint32(v.at), Count: 1, Reference: w.in.Tap.ShadowTrace(*c),
			Suspect: w.in.Tap.WalkTrace(*c),
		}
		w.in.Tap.Place(*c, f.Mismatch)
	}
	return f
}

// kindOf says for all frames of a walk whether those on top may be one compiled frame: AsyncGetCallTrace does not.
func kindOf(c *agent.TapCall) recording.FrameKind {
	if c.TopState == "interpreted" || c.TopState == "native" {
		return recording.Interpreted
	}
	return recording.UnknownFrame
}

// method is nil for one that the tap does not name.
func (w walks) method(id uint32) *recording.Method {
	m, seen := w.named[id]
	if name, known := w.in.Tap.Methods[id]; known && !seen {
		f := frameOf(name)
		m = &recording.Method{Class: f.GetClassName(), Name: f.GetMethod(), Descriptor: f.GetDescriptor_()}
		w.named[id] = m
	}
	return m
}
