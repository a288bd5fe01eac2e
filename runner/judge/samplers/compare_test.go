package samplers

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// stackOf makes a stack of words, innermost first: a method, and a line behind a colon.
func stackOf(text string) stack {
	var s stack
	for word := range strings.FieldsSeq(text) {
		name, line, _ := strings.Cut(word, ":")
		number, _ := strconv.Atoi(line)
		s = append(s, location{uint32(name[0]), int32(number)})
	}
	return s
}

func TestSampleAgainstItsNeighboursCommonPart(t *testing.T) {
	deep := strings.Repeat("x ", 20)
	for _, c := range []struct {
		what, before, after, sample string
		want                        relation
	}{
		{"all stand still", "c b a", "c b a", "c b a", contains},
		{"the neighbours have moved on top", "d b a", "e b a", "f b a", contains},
		{"the sample is deeper", "b a", "b a", "f e d b a", contains},
		{"lines do not count", "c b:1 a:1", "c b:2 a:1", "c b:3 a:2", contains},
		{"the sample has left b", "c b a", "d b a", "c a", shares},
		{"the sample is what it called", "c b a", "d b a", "a", shares},
		{"a tenth", "c " + deep + "a", "c " + deep + "a", "c " + strings.Repeat("y ", 20) + "a", sharesLittle},
		{"of a shallow sample more", "c " + deep + "a", "c " + deep + "a", "c b a", shares},
		{"nothing", "c b a", "c b a", "z y", apart},
		{"the bottom is lost", "c b a", "c b a", "c b", apart},
	} {
		t.Run(c.what, func(t *testing.T) {
			common := commonPart(stackOf(c.before), stackOf(c.after))
			assert.Equal(t, c.want, relate(stackOf(c.sample), common))
		})
	}
}

func TestKindOfASampleWithNothingInCommon(t *testing.T) {
	assert.Equal(t, kindTruncated, apartKind(stackOf("d c b"), stackOf("c b a")))
	assert.Equal(t, kindForeign, apartKind(stackOf("d z"), stackOf("c b a")))
	assert.Equal(t, kindForeign, apartKind(stackOf("a z"), stackOf("c b a")), "its own bottom is z")
}

func TestSampleAgainstAStackThatStood(t *testing.T) {
	const held = "h:9 c:3 b:2 a:1"
	for _, c := range []struct {
		what, sample, kind string
		divergence         int
	}{
		{"equal", "h:9 c:3 b:2 a:1", "", 0},
		{"the line of the innermost is not known", "h:7 c:3 b:2 a:1", "", 0},
		{"more on top", "y x h:8 c:3 b:2 a:1", "", 0},
		{"unknown lines", "h c:0 b:2 a", "", 0},
		{"another line below", "h:9 c:4 b:2 a:1", kindWrongBci, 2},
		{"another line at the bottom", "h:9 c:3 b:2 a:5", kindWrongBci, 0},
		{"bottom frame lost", "h:9 c:3 b:2", kindTruncated, 0},
		{"all but the innermost lost", "x h:8", kindTruncated, 0},
		{"top frame lost", "c:3 b:2 a:1", kindMissing, 3},
		{"top frame lost below another", "x c:3 b:2 a:1", kindMissing, 3},
		{"frame lost in the middle", "h:9 b:2 a:1", kindMissing, 2},
		{"two frames lost in the middle", "x h:9 a:1", kindMissing, 1},
		{"one frame too many", "h:9 c:3 x b:2 a:1", kindExtra, 2},
		{"one too many at the bottom", "h:9 c:3 b:2 a:1 x", kindExtra, 0},
		{"one frame is another", "h:9 x b:2 a:1", kindWrongMethod, 2},
		{"the bottom is another", "h:9 c:3 b:2 x", kindWrongMethod, 0},
		{"another stack", "z y x", kindForeign, 0},
		{"another stack on the bottom", "z y x w v u a:1", kindForeign, 1},
		{"only the bottom", "a:1", kindMissing, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			kind, divergence := stood(stackOf(c.sample), stackOf(held))
			assert.Equal(t, c.kind, kind)
			assert.Equal(t, c.divergence, divergence)
		})
	}
}
