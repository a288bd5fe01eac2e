package shadow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/runner/recording"
)

// trace parses frames, outermost first: "a" is the instrumented method a in its body, "a@3" at index 3, "-x" a method that is not
// instrumented, "?" one that is not named; the first letter of what follows a colon is the kind: i(nterpreted, the default),
// c(ompiled), d(eoptimised, so that the index stands for none), n (inlined), N(ative). "enter" and "exit" are MisstepShadow's.
func trace(text string) (stack []frame) {
	kinds := map[string]recording.FrameKind{
		"": recording.Interpreted, "i": recording.Interpreted, "c": recording.Compiled, "n": recording.Inlined,
		"N": recording.Native, "d": recording.Compiled,
	}
	for word := range strings.FieldsSeq(text) {
		word, kind, _ := strings.Cut(word, ":")
		name, index, placed := strings.Cut(word, "@")
		f := frame{bci: 50, kind: kinds[kind], unplaced: kind == "d"}
		if placed {
			f.bci = 0
			for _, digit := range index {
				f.bci = 10*f.bci + digit - '0'
			}
		}
		switch {
		case name == "?":
		case name == "enter" || name == "exit":
			f.method = &method{name: name, role: map[string]role{"enter": enter, "exit": exit}[name]}
		case name[0] == '-':
			f.method = &method{name: name}
		default:
			f.method = &method{name: name, key: keyOf(name), init: strings.HasPrefix(name, "init")}
		}
		stack = append(stack, f)
	}
	return stack
}

func keyOf(name string) uint32 {
	key := uint32(1)
	for _, r := range name {
		key = 31*key + uint32(r)
	}
	return key
}

func shadowOf(text string) (keys []uint32) {
	for name := range strings.FieldsSeq(text) {
		keys = append(keys, keyOf(name))
	}
	return keys
}

func TestComparison(t *testing.T) {
	for name, test := range map[string]struct {
		shadow, trace string
		change        func(*sample)
		want          verdict
	}{
		"equal":                               {"a b c", "-m a b -x c -y", nil, verdict{}},
		"nothing is instrumented":             {"", "-m -x", nil, verdict{}},
		"top before its push":                 {"a b", "a b c@2", nil, verdict{rule: ruleWindow}},
		"top behind its pop":                  {"a b", "a b c", nil, verdict{rule: ruleWindow}},
		"in enter":                            {"a b", "a b c@3 enter", nil, verdict{rule: ruleWindow}},
		"in exit":                             {"a b", "a b c exit", nil, verdict{rule: ruleWindow}},
		"in exit, not popped yet":             {"a b c", "a b c exit", nil, verdict{}},
		"two on top that are not there":       {"a b", "a b c d", nil, verdict{kind: extra, at: 2}},
		"a constructor in its prologue":       {"a f", "a init f", nil, verdict{rule: ruleWindow}},
		"a method without a name":             {"a b c", "a ? c", nil, verdict{rule: ruleNameless}},
		"a caller without an index":           {"a b c", "a b@0:d c", nil, verdict{rule: ruleIndexless}},
		"no index, and not on the shadow":     {"a c d", "a b@0:d c d -x", nil, verdict{kind: extra, at: 1}},
		"no index, and one missing":           {"a b c d e", "a b@0:d d e -x", nil, verdict{kind: missing, at: 2}},
		"no index, and wrong below":           {"a b c d", "x b@0:d c d -x", nil, verdict{kind: wrongMethod}},
		"an interpreted caller at index 0":    {"a b c", "a b@0 c", nil, verdict{kind: missing, at: 1}},
		"a top without an index":              {"a b c", "a b c@0:d", nil, verdict{}},
		"one missing on top":                  {"a b c", "a b -x", nil, verdict{rule: ruleTop}},
		"two missing on top":                  {"a b c d", "a b -x", nil, verdict{kind: missing, at: 2}},
		"all missing on top":                  {"a b", "-m -x", nil, verdict{kind: missing}},
		"one missing in the middle":           {"a b c d", "a b d -x", nil, verdict{kind: missing, at: 2}},
		"one missing at the bottom":           {"a b c d", "b c d -x", nil, verdict{kind: truncated, at: 1}},
		"truncated":                           {"a b c d e", "d e -x", nil, verdict{kind: truncated, at: 3}},
		"truncated above all that is on it":   {"a", "-x", func(s *sample) { s.bottom = false }, verdict{kind: truncated, at: 1}},
		"another method":                      {"a b c d", "a x c d -y", nil, verdict{kind: wrongMethod, at: 1}},
		"one too many in the middle":          {"a b c", "a x b c -y", nil, verdict{kind: extra, at: 1}},
		"another stack":                       {"a b c d", "w x y z -q", nil, verdict{kind: foreign}},
		"swapped":                             {"a b c d", "a c b d -x", nil, verdict{kind: foreign, at: 1}},
		"another inlined method":              {"a r x y", "a r:c p:n", precisely, verdict{rule: ruleInline}},
		"no inlined method":                   {"a r", "a r:c p:n q:n", precisely, verdict{rule: ruleInline}},
		"inlined around both places":          {"a r b c d x y z", "a r:c b:n c:n d:n p:n", precisely, verdict{rule: ruleInline}},
		"inlined, too far above both":         {"a r b x1 x2 x3 x4 x5", "a r:c b:n p:n", precisely, verdict{kind: missing, at: 3}},
		"inlined, far above the place":        {"a r", "a r:c b:n c:n d:n e:n f:n g:n h:n", inCompiled, verdict{rule: ruleInline}},
		"inlined, another place far off":      {"a r b x1 x2 x3 x4 x5", "a r:c b:n p:n q:n", inCompiled, verdict{rule: ruleInline}},
		"the same, and the top is right":      {"a r b x1 x2 x3 x4 q", "a r:c b:n p:n q:n", inCompiled, verdict{kind: foreign, at: 3}},
		"far off, and wrong below":            {"c r b x1 x2 x3 x4 x5", "a r:c b:n p:n q:n", inCompiled, verdict{kind: foreign}},
		"the same of other code":              {"a r b x1 x2 x3 x4 x5", "a r:c b:n p:n q:n", precisely, verdict{kind: foreign, at: 3}},
		"far off, some of them missing":       {"a r b x1 x2 x3 x4 x5", "a r:c b:n x3:n", inCompiled, verdict{kind: missing, at: 3}},
		"another place of a recursion":        {"a r f l r f x y", "a r:c f:n r:n f:n p:n", inCompiled, verdict{rule: ruleInline}},
		"a recursion without some of it":      {"a r f l r f x y", "a r:c f:n r:n f:n y:n", inCompiled, verdict{kind: foreign, at: 3}},
		"the same, and not all is inlined":    {"a r", "a r:c b:c c:n d:n e:n f:n g:n h:n", inCompiled, verdict{kind: extra, at: 2}},
		"the same of what is not compiled":    {"a r", "a r:c b:n c:n d:n e:n f:n g:n h:n", precisely, verdict{kind: extra, at: 2}},
		"returned and called from C code":     {"a b r u v w x y", "a b q z", inNative, verdict{rule: ruleSafepoint}},
		"the same, and wrong below":           {"a b r u v w x y", "c b q z", inNative, verdict{kind: foreign}},
		"returned and called, and no mark":    {"a b r u v w x y", "a b q z", unmarked, verdict{void: voidUndecided}},
		"another compiled method":             {"a r x", "a s:c p:n", precisely, verdict{kind: foreign, at: 1}},
		"inlined, and wrong below":            {"a b r x", "a r:c p:n", precisely, verdict{kind: foreign, at: 1}},
		"an interpreted method has no inline": {"a r x y", "a r p -q", precisely, verdict{kind: foreign, at: 2}},
		"inlined, of one kind, into the code that the signal hit": {
			"a r x y", "a r:c p:c q:c", func(s *sample) { s.kinds, s.oneKind, s.code = true, true, "r" }, verdict{rule: ruleInline},
		},
		"of one kind, and the signal hit other code": {
			"a r x y", "a r:c p:c q:c", func(s *sample) { s.kinds, s.oneKind, s.code = true, true, "q" }, verdict{kind: foreign, at: 2},
		},
		"of one kind, and the difference is below the code that the signal hit": {
			"a b r x", "a c:c r:c x:c", func(s *sample) { s.kinds, s.oneKind, s.code = true, true, "r" }, verdict{kind: foreign, at: 1},
		},
		"inlined by kinds that are not known": {"a r x y", "a r:c p:c", nil, verdict{rule: ruleInline}},
		"a safepoint later, deeper":           {"a b", "a b c d e", later, verdict{rule: ruleSafepoint}},
		"a safepoint later, returned":         {"a b c d", "a b -x", later, verdict{rule: ruleSafepoint}},
		"returned from a compiled frame":      {"a b c d e f g", "a b:c", later, verdict{rule: ruleSafepoint}},
		"returned to an interpreted frame":    {"a b c d e f g", "a b", biased, verdict{rule: ruleSafepoint}},
		"returned, or another frame pointer":  {"a b c d e f g", "a b", later, verdict{void: voidUndecided}},
		"interpreted, returned from one":      {"a b c d e f", "a b", interpreting, verdict{rule: ruleSafepoint}},
		"interpreted, another frame pointer":  {"a b c d e f g", "a b -x", interpreting, verdict{kind: missing, at: 2}},
		"many calls later":                    {"a b c", "a b c " + many, later, verdict{void: voidUndecided}},
		"many calls later, and marked":        {"a b c", "a b c " + many, biased, verdict{rule: ruleSafepoint}},
		"many calls later, some returned":     {"a b c x y", "a b c " + many, biased, verdict{rule: ruleSafepoint}},
		"many calls later, too many returned": {"a b c x1 x2 x3 x4 x5", "a b c " + many, later, verdict{kind: foreign, at: 3}},
		"many calls later, wrong below":       {"a b c d e f g", "a c d e f g " + many, later, verdict{kind: foreign, at: 1}},
		"many calls later, nothing right":     {"a b c", "z " + many, later, verdict{kind: foreign}},
		"one missing in the middle, later":    {"a b c d e f", "a b d e f -x", later, verdict{kind: missing, at: 2}},
		"many calls above compiled code":      {"a b c", "a b c " + many, compiling, verdict{kind: extra, at: 3}},
		"many calls, and the walk was then":   {"a b c", "a b c " + many, nil, verdict{kind: extra, at: 3}},
		"another frame pointer":               {"a b c d e f g", "a b -x", nil, verdict{kind: missing, at: 2}},
		"a safepoint later, far away": {
			"a b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12 b13 b14 b15 b16 b17", "a -x", later, verdict{kind: missing, at: 1},
		},
		"a safepoint later, truncated": {"a b c d", "c d -x", laterCut, verdict{kind: truncated, at: 2}},
		"of a carrier":                 {"a b c", "x y z -q", func(s *sample) { s.carrier = true }, verdict{void: voidVirtual}},
		"of a carrier, equal":          {"a b", "a b", func(s *sample) { s.carrier = true }, verdict{}},
		"cut, equal":                   {"a b c d", "c d -x", cut, verdict{rule: ruleDepth}},
		"cut, different":               {"a b c d", "b d -x", cut, verdict{void: voidDepth}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sample{shadow: shadowOf(test.shadow), stack: trace(test.trace), bottom: true}
			if test.change != nil {
				test.change(s)
			}
			assert.Equal(t, test.want, compare(s))
		})
	}
}

func precisely(s *sample) { s.kinds = true }
func later(s *sample)     { s.later = true }
func biased(s *sample)    { s.later, s.biased = true, true }
func cut(s *sample)       { s.cut = true }

func inCompiled(s *sample)   { s.kinds, s.state, s.code = true, stateCompiled, "r" }
func inNative(s *sample)     { s.later, s.biased, s.state = true, true, stateNative }
func unmarked(s *sample)     { s.later, s.state = true, stateNative }
func interpreting(s *sample) { s.later, s.state = true, stateInterpreted }
func compiling(s *sample)    { s.later, s.state = true, stateCompiled }

// many calls that nothing else of the tests makes.
const many = "d e f g h i j k l m n"

func laterCut(s *sample) { s.later, s.bottom = true, false }
