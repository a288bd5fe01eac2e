package samplers

// Words of the verdicts; their meaning is in recipe/words.go.
const (
	kindTruncated   = "truncated"
	kindMissing     = "missing"
	kindExtra       = "extra"
	kindForeign     = "foreign"
	kindWrongMethod = "wrong-method"
	kindWrongBci    = "wrong-bci"

	ruleBetween      = "between-samples"
	ruleTiny         = "tiny-overlap"
	ruleAnotherEntry = "another-entry"
	ruleSpanEdge     = "span-edge"

	voidDepth         = "depth"
	voidNoStack       = "no-stack"
	voidIncomplete    = "incomplete"
	voidUnknownMethod = "unknown-method"
	voidNoNeighbour   = "no-neighbour"
	voidNoCommon      = "no-common-part"
	voidOverrun       = "overrun"
)

// tinyShare is the share of the depth, of the neighbours' common part or of the sample, up to which an overlap is tiny.
const tinyShare = 0.1

// overlap returns how many frames, from the bottom, are of the same methods.
func overlap(a, b stack) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n].name == b[len(b)-1-n].name {
		n++
	}
	return n
}

// commonPart returns what two stacks have in common from the bottom, as a part of the first.
func commonPart(a, b stack) stack { return a[len(a)-overlap(a, b):] }

// relation is how a sample lies to the common part of its neighbours.
type relation uint8

// The relations, from the best to the worst.
const (
	contains relation = iota
	shares
	sharesLittle
	apart
)

// relate compares a sample with the common part of another sampler's neighbours before and after, which is not empty.
func relate(sample, common stack) relation {
	n := overlap(sample, common)
	switch {
	case n == len(common):
		return contains
	case n == 0:
		return apart
	case float64(n) <= tinyShare*float64(min(len(common), len(sample))):
		return sharesLittle
	}
	return shares
}

// apartKind is the kind of a sample that shares nothing with the common part: the sample ends at a method in the middle of it, or
// it is another stack's.
func apartKind(sample, common stack) string {
	bottom := sample[len(sample)-1].name
	for _, f := range common[:len(common)-1] {
		if f.name == bottom {
			return kindTruncated
		}
	}
	return kindForeign
}

// same reports whether two locations can be one: equal lines, or one is unknown.
func same(a, b location) bool {
	return a.name == b.name && (a.line == b.line || a.line == 0 || b.line == 0)
}

// stood compares a sample with a stack that stood still while it was taken, of whose innermost frame the line is not known. It
// returns the kind of the mismatch, empty if the sample has that stack below what moved, and the index from the bottom of the first
// difference.
func stood(sample, held stack) (kind string, divergence int) {
	held = append(stack{{held[0].name, 0}}, held[1:]...)
	n := agreement(sample, held)
	if n == len(held) {
		return "", 0
	}
	return difference(sample, held, n)
}

// equal compares two stacks of a thread that did not run in between.
func equal(sample, other stack) (kind string, divergence int) {
	n := agreement(sample, other)
	switch {
	case n == len(sample) && n == len(other):
		return "", 0
	case n == len(other):
		return kindExtra, n
	}
	return difference(sample, other, n)
}

// difference names the kind of the difference between a sample and a stack that is not a part of it; they agree in n frames from
// the bottom.
func difference(sample, held stack, n int) (kind string, divergence int) {
	if n == len(sample) {
		return kindMissing, n
	}
	have, want := sample[:len(sample)-n], held[:len(held)-n]
	switch {
	case n == 0 && endsInside(sample, held):
		return kindTruncated, 0
	case have[len(have)-1].name == want[len(want)-1].name:
		return kindWrongBci, n
	case len(want) == 1:
		return kindMissing, n
	case agreement(have[:len(have)-1], want[:len(want)-1]) == len(want)-1:
		return kindWrongMethod, n
	}
	for k := 1; k < len(want); k++ {
		if agreement(have, want[:len(want)-k]) == len(want)-k {
			return kindMissing, n
		}
	}
	for k := 1; k < len(have); k++ {
		if agreement(have[:len(have)-k], want) == len(want) {
			return kindExtra, n
		}
	}
	return kindForeign, n
}

// agreement returns how many locations, from the bottom, can be the same.
func agreement(a, b stack) int {
	n := 0
	for n < len(a) && n < len(b) && same(a[len(a)-1-n], b[len(b)-1-n]) {
		n++
	}
	return n
}

// endsInside reports whether a sample has the innermost frames of a stack and ends before its bottom.
func endsInside(sample, held stack) bool {
	for i := range sample {
		rest := sample[i:]
		if len(rest) >= len(held) || !same(rest[0], held[0]) {
			continue
		}
		if agreement(rest, held[:len(rest)]) == len(rest) {
			return true
		}
	}
	return false
}
