package jfrcheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"misstep/runner/judge/classes"
	"misstep/runner/recording"
)

// sitesCheck is the name of the check of call sites against each other.
const sitesCheck = "call-sites"

const (
	kindContradiction = "contradictory-call"
	mostSites         = 1 << 17 // of less than 1 KiB
	mostCallees       = 16      // of a site; one with more is none that calls one method
	// leastCalls are the samples of a site that say what it calls; a callee of at most one in rareOf of them contradicts.
	leastCalls = 20
	rareOf     = 20
)

// sites notes which methods stand above each caller at a bytecode index. There is one instruction, which names one method: a method
// of another name or descriptor above it means that the index or the method is wrong. What the VM calls by itself, and what method
// handles lead to, stands there as well, so that this is a doubt, which class files can settle (event-edges).
type sites struct {
	calls map[callSite]map[callee]*called
	full  bool
	// pending counts the events by their stacks: those of a chunk share them, so that each is looked at once.
	pending map[sampled]uint64
	// known calls, of this chunk and of others that share its methods; nil for what is not checked.
	known map[call]*called
}

// sampled is a stack of a sampler's events in a chunk.
type sampled struct {
	stack   *recording.Stack
	sampler string
}

type callSite struct {
	class, name, descriptor string
	bci                     int32
}

type callee struct{ name, descriptor string }

type called struct {
	count   uint64
	example []string
	sampler string
}

func newSites() *sites {
	return &sites{calls: map[callSite]map[callee]*called{}, pending: map[sampled]uint64{}, known: map[call]*called{}}
}

// Visit takes a record.
func (s *sites) Visit(r recording.Record) error {
	switch r := r.(type) {
	case *recording.Chunk:
		s.settle()
	case *recording.Event:
		if r.Stack != nil && samplerTypes[r.Type] {
			s.pending[sampled{r.Stack, r.Type}]++
		}
	}
	return nil
}

// mostKnown bounds what is kept from chunk to chunk by the methods that they share.
const mostKnown = 1 << 18

// call is one from a place in a method, as the stacks of a chunk have it: they share methods. Without padding it is hashed at once.
type call struct {
	from, to *recording.Method
	bci      int32
	kind     int32 // recording.FrameKind of the caller
}

// settle notes the calls of a chunk.
func (s *sites) settle() {
	if len(s.known) > mostKnown {
		clear(s.known)
	}
	for at, n := range s.pending {
		for i := 1; i < len(at.stack.Frames); i++ {
			caller := at.stack.Frames[i]
			of := call{caller.Method, at.stack.Frames[i-1].Method, caller.BCI, int32(caller.Kind)}
			c, has := s.known[of]
			if !has {
				c = s.called(of, at, i)
				s.known[of] = c
			}
			if c != nil {
				c.count += n
			}
		}
	}
	clear(s.pending)
}

// called returns what counts a call from a frame of a stack; nil for what is not checked.
func (s *sites) called(of call, at sampled, i int) *called {
	m, to := of.from, of.to
	if m == nil || to == nil || of.bci < 0 || m.Modifiers&accNative != 0 ||
		of.kind == int32(recording.Native) || fromHandle(m) ||
		m.Descriptor == pseudo || to.Descriptor == pseudo {
		return nil
	}
	site := callSite{m.Class, m.Name, m.Descriptor, of.bci}
	callees := s.calls[site]
	if callees == nil {
		if len(s.calls) >= mostSites {
			s.full = true
			return nil
		}
		callees = map[callee]*called{}
		s.calls[site] = callees
	}
	key := callee{to.Name, to.Descriptor}
	switch {
	case fromHandle(to): // whatever the handle leads to
		key = callee{}
	case classes.Upcall(strings.ReplaceAll(to.Class, ".", "/"), to.Name, to.Descriptor) != 0:
		return nil
	}
	c := callees[key]
	if c == nil {
		if len(callees) >= mostCallees {
			return nil
		}
		c = &called{sampler: at.sampler}
		callees[key] = c
		c.example = exampleOf(at.stack, i)
	}
	return c
}

// exampleOf is the stack around a call. It is kept for each callee of a site, since the rare one may come first.
func exampleOf(s *recording.Stack, caller int) []string {
	const above, below = 1, 6
	around := *s
	around.Frames = s.Frames[max(caller-1-above, 0):min(caller+below, len(s.Frames))]
	return stackText(&around)
}

// fromHandle reports whether a method belongs to method handles, lambdas or other code that the VM or the JDK generates.
func fromHandle(m *recording.Method) bool {
	return m.Hidden || m.ClassHidden || strings.HasPrefix(m.Class, "java.lang.invoke.") || strings.Contains(m.Class, "$$Lambda") ||
		strings.Contains(m.Class, "0x")
}

func (s *sites) ends(*Recording) { s.settle() }

func (s *sites) report(r *Report) {
	check := Check{Name: sitesCheck, What: "a call site calls one method, as other samples have it", Unit: "calls"}
	for at, callees := range s.calls {
		var all, most uint64
		for _, c := range callees {
			all += c.count
			most = max(most, c.count)
		}
		rare := all / rareOf
		_, handle := callees[callee{}]
		if len(callees) == 1 || all < leastCalls || handle || len(callees) >= mostCallees || all-most > rare {
			check.Right += all
			continue
		}
		usual := usualOf(callees)
		for key, c := range callees {
			if key == usual {
				check.Right += c.count
				continue
			}
			check.Wrong += c.count
			r.Doubts = append(r.Doubts, Fault{
				Check: sitesCheck, Kind: kindContradiction, Count: c.count, Sampler: c.sampler, Stack: c.example,
				Place:  fmt.Sprintf("%s calls %s", frameText(at.class+"."+at.name, at.bci), key.name),
				Detail: fmt.Sprintf("%d of %d samples have %s there", callees[usual].count, all, usual.name),
			})
		}
	}
	if s.full {
		r.Notes = append(r.Notes, fmt.Sprintf("%s knows the first %d call sites only", sitesCheck, mostSites))
	}
	r.Checks = append(r.Checks, check)
}

func usualOf(callees map[callee]*called) callee {
	return slices.MaxFunc(slices.Collect(maps.Keys(callees)), func(a, b callee) int {
		return cmp.Or(cmp.Compare(callees[a].count, callees[b].count), cmp.Compare(b.name, a.name))
	})
}
