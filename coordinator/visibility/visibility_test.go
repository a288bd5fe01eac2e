package visibility_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/visibility"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

const (
	shared    = misstepv1.Visibility_VISIBILITY_SHARED
	embargoed = misstepv1.Visibility_VISIBILITY_EMBARGOED
	private   = misstepv1.Visibility_VISIBILITY_PRIVATE
)

var end = time.Unix(1_800_000_000, 0)

func about(finding string, v misstepv1.Visibility, people ...string) *misstepv1.FindingVisibility {
	d := &misstepv1.FindingVisibility{FindingId: finding, Visibility: v, People: people}
	if v == embargoed {
		d.Until = timestamppb.New(end)
	}
	return d
}

func TestAnEmbargoEndsByItself(t *testing.T) {
	v := about("F1", embargoed)
	assert.True(t, visibility.Hidden(v, end.Add(-1)))
	assert.False(t, visibility.Hidden(v, end), "the date itself is no part of it")
	all := []*misstepv1.FindingVisibility{v}
	assert.Equal(t, v, visibility.New(all, triage.Grouping{}, end.Add(-1)).Of("F1"))
	assert.Nil(t, visibility.New(all, triage.Grouping{}, end).Of("F1"))
	assert.True(t, visibility.Hidden(about("F1", private), end.AddDate(1000, 0, 0)))
}

func TestWhoSees(t *testing.T) {
	for _, test := range []struct {
		name         string
		v            *misstepv1.FindingVisibility
		home, abroad bool // of a reader who is not named
		named        bool // at home and abroad
	}{
		{"nothing decided", nil, true, false, false},
		{"shared", about("F", shared), true, true, true},
		{"embargoed", about("F", embargoed, "anna"), false, false, true},
		{"private", about("F", private, "ben", "anna"), false, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.home, visibility.Reader{Name: "eve"}.Sees(test.v))
			assert.Equal(t, test.abroad, visibility.Reader{Name: "eve", Abroad: true}.Sees(test.v))
			assert.Equal(t, test.home || test.named, visibility.Reader{Name: "anna"}.Sees(test.v))
			assert.Equal(t, test.named, visibility.Reader{Name: "anna", Abroad: true}.Sees(test.v))
			assert.Equal(t, test.home, visibility.Reader{}.Sees(test.v), "nobody")
		})
	}
	assert.False(t, visibility.Reader{}.Sees(about("F", private, "")), "an empty name is nobody's")
}

// Of merged findings the strictest decision holds, whichever of them it is about.
func TestMergedFindingsAreAsTheStrictest(t *testing.T) {
	g := triage.NewGrouping([]*misstepv1.TriageDecision{
		{Kind: "merge", Finding: "F2", Into: "F1"}, {Kind: "merge", Finding: "F3", Into: "F1"},
	})
	for _, test := range []struct {
		name string
		all  []*misstepv1.FindingVisibility
		want int // index of all, or -1
	}{
		{"none", nil, -1},
		{"an alias is private", []*misstepv1.FindingVisibility{about("F2", private), about("F1", shared)}, 0},
		{"private before embargoed", []*misstepv1.FindingVisibility{about("F2", embargoed), about("F3", private)}, 1},
		{"a shared alias shares nothing else", []*misstepv1.FindingVisibility{about("F2", shared)}, -1},
		{"the head is shared", []*misstepv1.FindingVisibility{about("F1", shared)}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := visibility.New(test.all, g, end.Add(-1))
			for _, id := range []string{"F1", "F2", "F3"} {
				if test.want < 0 {
					assert.Nil(t, s.Of(id))
				} else {
					assert.Equal(t, test.all[test.want], s.Of(id))
				}
			}
			assert.Nil(t, s.Of("F4"))
		})
	}
	late := about("F2", embargoed)
	late.Until = timestamppb.New(end.Add(time.Hour))
	assert.Equal(t, late, visibility.New([]*misstepv1.FindingVisibility{about("F1", embargoed), late}, g, end.Add(-1)).Of("F3"))
}
