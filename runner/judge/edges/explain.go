package edges

import (
	"cmp"
	"slices"

	"misstep/agent"
)

// Explanation of an edge, from the strictest to none.
type Explanation uint8

// The explanations.
const (
	Call         Explanation = iota // an invoke of this method
	Upcall                          // the VM may call this method from there
	MethodHandle                    // a method handle's call of this shape
	NativeCaller                    // a native method may call anything
	Filtered                        // JFR leaves out the frames between, of this type of event
	Redefined                       // the caller's class was redefined: the frame may run another version
	Unknown                         // caller or callee is not known
	Nothing
	explanations
)

// Opcodes (JVMS 6.5).
const (
	opInvokestatic    = 184
	opInvokeinterface = 185
)

// explain returns the best explanation of an edge that any version of the caller gives (agent/native/src/edges.cpp: ExplainEdge).
func (p *Program) explain(callers []*version, bci int32, callees []*version) Explanation {
	if len(callers) == 0 || len(callees) == 0 {
		return Unknown
	}
	best := explanations
	for _, caller := range callers {
		for _, callee := range callees {
			best = min(best, p.explainOne(caller, bci, callee))
		}
	}
	return best
}

func (p *Program) explainOne(caller *version, bci int32, callee *version) Explanation {
	if caller.native {
		return NativeCaller
	}
	rest := Nothing
	if caller.class.redefined {
		rest = Redefined
	}
	if caller.code == nil {
		return min(rest, Unknown)
	}
	s := caller.at(bci)
	t := s.target
	switch {
	case t != nil && t.name == callee.name && t.descriptor == callee.descriptor && p.maySelect(s.opcode, t, callee):
		return Call
	case s.occasions&callee.upcall != 0:
		return Upcall
	case t != nil && t.polymorphic && handleCalls(caller, t, callee):
		return MethodHandle
	}
	return rest
}

// at returns what stands at a bytecode index, where only the entry may have none: -1 in compiled code (InvocationEntryBci).
func (v *version) at(bci int32) site {
	if bci == -1 {
		return site{occasions: agent.Compiling}
	}
	i, found := slices.BinarySearchFunc(v.code, bci, func(s site, bci int32) int { return cmp.Compare(int32(s.bci), bci) })
	if !found {
		return site{}
	}
	return v.code[i]
}

// maySelect reports whether an invoke of a method can select one that the callee's class declares (JVMS 5.4.6).
func (p *Program) maySelect(opcode uint8, t *target, callee *version) bool {
	owner, has := t.owner, callee.class
	switch {
	case owner == nil || owner == has:
		return true
	case t.name == "<init>": // constructors are not inherited
		return false
	case opcode == opInvokeinterface || has.kind != plainClass:
		// A default method may come from any interface of the receiver's class, and that class may extend any other.
		return true
	}
	// invokespecial looks again from the caller's superclass on, which may be below the class that is named (JVMS 6.5).
	return p.mayExtend(owner, has) || opcode != opInvokestatic && p.mayExtend(has, owner)
}

// deepest is the number of superclasses that are looked at: names of classes that differ may lead round.
const deepest = 256

// mayExtend reports whether a class may be another one or extend it. What is not known may.
func (p *Program) mayExtend(sub, super *class) bool {
	for range deepest {
		p.know(sub)
		switch {
		case sub == super, sub.kind == unknownKind, sub.kind == several:
			return true
		case sub.super == nil:
			return false
		}
		sub = sub.super
	}
	return true
}
