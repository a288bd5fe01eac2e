package shadow

import (
	"slices"

	"misstep/runner/recording"
)

// frame is a frame of a recorded trace; its method is nil where the chunk lacks it.
type frame struct {
	*method
	bci  int32
	kind recording.FrameKind
	raw  *recording.Method
	// unplaced says that the index stands for none.
	unplaced bool
}

// presence says whether a frame has an entry on the shadow.
type presence uint8

const (
	off presence = iota
	maybe
	on
)

// A method pushes first thing: a constant of two or three bytes, invokestatic and lstore (agent/java: PushPop.java). lastEnter is
// the last index that the call of enter can have.
const lastEnter = 3

// presenceOf finds the presence of a frame by its bytecode index, which is exact at a call; callee is the frame above it, nil for
// the top one.
//
// Before the end of the push nothing is on the shadow, and no other call than the push itself is there; but the VM may call a
// method from it. Only constructors call others before: they push behind super() or this(). Once exit has run the entry is gone.
// Where a constructor's push and the pops are is not known, so that a constructor may lack its entry, and the top frame may.
func presenceOf(f, callee *frame) presence {
	switch {
	case f.method == nil:
		return maybe
	case f.key == 0:
		return off
	case callee == nil, f.init, is(callee, enter), is(callee, exit), is(callee, runtime):
		return maybe
	case f.unplaced:
		return on // nothing that runs before the push has a place without debug information
	case f.bci >= 0 && f.bci <= lastEnter:
		return off
	case f.bci < 0:
		return maybe
	}
	return on
}

func is(callee *frame, r role) bool { return callee != nil && callee.method != nil && callee.role == r }

// tolerances are the reasons for which two sides that are not equal agree.
type tolerances uint8

const (
	before    tolerances = 1 << iota // a frame before its push
	window                           // a frame in its push or pop that is not on the shadow
	nameless                         // a frame whose method the recording does not name
	indexless                        // a frame on the shadow whose index the walker did not know
)

// rule is the name of the rule that the tolerances stand for; empty for none.
func (t tolerances) rule() string {
	switch {
	case t&nameless != 0:
		return ruleNameless
	case t&indexless != 0:
		return ruleIndexless
	case t&window != 0:
		return ruleWindow
	case t&before != 0:
		return ruleConstructor
	}
	return ""
}

// alignment is a way in which the frames so far stand for the first entries of the shadow.
type alignment struct {
	at int
	tolerances
}

// align finds the ways in which a stack, outermost frame first, stands for shadow[0:n], and calls done for each until it returns
// true. callee is the frame above the stack, nil for none. Frames that may or may not be on the shadow are the only branches; ways
// that come to the same entry with the same tolerances are one, so that there are at most sixteen for each entry.
func align(stack []frame, callee *frame, shadow []uint32, done func(n int, t tolerances) bool) bool {
	ways := []alignment{{}}
	var next []alignment
	for i := range stack {
		f := &stack[i]
		above := callee
		if i+1 < len(stack) {
			above = &stack[i+1]
		}
		p := presenceOf(f, above)
		if p == off && f.key == 0 {
			continue
		}
		next = next[:0]
		add := func(a alignment) {
			if !slices.Contains(next, a) {
				next = append(next, a)
			}
		}
		for _, a := range ways {
			if f.method == nil {
				a.tolerances |= nameless
			}
			if p != off && a.at < len(shadow) && (f.method == nil || shadow[a.at] == f.key) {
				there := alignment{a.at + 1, a.tolerances}
				if p == on && f.unplaced {
					there.tolerances |= indexless
				}
				add(there)
			}
			if p == on {
				continue
			}
			switch {
			case f.method == nil:
			case p == off:
				a.tolerances |= before
			default:
				a.tolerances |= window
			}
			add(a)
		}
		ways, next = next, ways
		if len(ways) == 0 {
			return false
		}
	}
	for _, a := range ways {
		if done(a.at, a.tolerances) {
			return true
		}
	}
	return false
}

// alignAll aligns a whole stack with a whole shadow.
func alignAll(stack []frame, shadow []uint32) (t tolerances, ok bool) {
	ok = align(stack, nil, shadow, func(n int, with tolerances) bool {
		t = with
		return n == len(shadow)
	})
	return t, ok
}

// sureKeys are the methods that a stack, outermost frame first, is certain to have on the shadow.
func sureKeys(stack []frame) (keys []uint32) {
	for i := range stack {
		var callee *frame
		if i+1 < len(stack) {
			callee = &stack[i+1]
		}
		if presenceOf(&stack[i], callee) == on {
			keys = append(keys, stack[i].key)
		}
	}
	return keys
}
