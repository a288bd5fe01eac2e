package known_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

func jdk(version string) *misstepv1.Jdk { return &misstepv1.Jdk{Name: "mine", Version: version} }

func TestFixedOn(t *testing.T) {
	for _, c := range []struct {
		fixedIn, version string
		want             bool
	}{
		{"17.0.16", jdk17, false},
		{"17.0.16", jdk1716, true},
		{"17.0.15", jdk17, true},
		{"17.0.15+7", jdk17, false}, // jdk17 is 17.0.15+6
		{"17.0.15+6", jdk17, true},
		{"17.0.16", jdk21, false}, // a backport says nothing about other feature releases
		{"21", jdk21, true},
		{"21", jdk25, true}, // the mainline's fix is in later releases
		{"21", jdk17, false},
		{"28+5", jdk28ea, true},
		{"28+6", jdk28ea, false},
		{"8.0.432", jdk8, false},
		{"8.0.432", jdk8new, true},
		{"mine", jdk17, true},
		{"yours", jdk17, false},
		{"mine", "", true},
		{"17", "", false}, // of an unknown version nothing is known to be fixed
	} {
		own, err := known.Own([]*misstepv1.KnownBug{{
			Id: "P-1", FixedIn: []string{c.fixedIn}, Matches: []*misstepv1.KnownMatch{{Kind: "crash", Parts: []string{"SIGSEGV*"}}},
		}})
		require.NoError(t, err)
		got := own.Bugs()[0].FixedOn(jdk(c.version))
		assert.Equal(t, c.want, got != "", "%s on %q", c.fixedIn, c.version)
		s := &misstepv1.Signature{Kind: "crash", Parts: []string{"SIGSEGV", "frame: V f"}}
		assert.Equal(t, !c.want, len(own.Labels(s, jdk(c.version))) == 1, "%s on %q", c.fixedIn, c.version)
		id, _ := own.Fixed(s, jdk(c.version))
		assert.Equal(t, c.want, id == "P-1", "%s on %q", c.fixedIn, c.version)
	}
}

func TestParseOwn(t *testing.T) {
	bugs, err := known.ParseOwn([]byte(`
- id: P-1
  link: https://tracker/P-1
  note: seen by the GC team
  fixed_in: ["17.0.16", "28+15", nightly]
  matches:
    - kind: crash
      parts: ["SIGSEGV", "frame: V G1*"]
`))
	require.NoError(t, err)
	require.Len(t, bugs, 1)
	assert.Equal(t, []string{"17.0.16", "28+15", "nightly"}, bugs[0].GetFixedIn())
	own, err := known.Own(bugs)
	require.NoError(t, err)
	assert.Equal(t, bugs[0].GetMatches()[0].GetParts(), own.Bugs()[0].Proto().GetMatches()[0].GetParts())

	empty, err := known.ParseOwn(nil)
	require.NoError(t, err)
	assert.Empty(t, empty)
	for text, want := range map[string]string{
		`- {id: A, matches: [{kind: crash, parts: ["*", "frame: *"]}]}`: "match everything of kind crash",
		`- {id: A, matches: [{kind: crash}]}`:                           "match everything of kind crash",
		`- {id: A, matches: [{kind: crush, parts: [a]}]}`:               "mismatch, crash, hang or failure",
		`- {id: A}`: "expected matches",
		`- {id: "A B", matches: [{kind: crash, parts: [abc]}]}`:            "without blanks",
		`- {id: A, versions: ["8"], matches: [{kind: crash, parts: [a]}]}`: "from..to",
		`- {id: A, fixed_in: [""], matches: [{kind: crash, parts: [a]}]}`:  "fixed_in",
		`- {id: A, colour: red}`: "colour",
		"- {id: A, matches: [{kind: crash, parts: [abc]}]}\n- {id: A, matches: [{kind: crash, parts: [abc]}]}": "taken",
	} {
		_, err := known.ParseOwn([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		kind  string
		parts []string
		wide  bool
	}{
		{"crash", []string{"SIGSEGV"}, true},
		{"crash", []string{"SIGSEGV", "frame: V *"}, true},
		{"crash", []string{"SIGSEGV", "frame: *", "walker: AsyncGetCallTrace"}, true},
		{"crash", []string{"SIG*", "frame: V frame::sender"}, false},
		{"crash", []string{"Internal Error a.cpp guarantee(x) failed*"}, false},
		{"mismatch", []string{"gst-asgct", "truncated"}, true},
		{"mismatch", []string{"gst-asgct", "truncated", "upcall *"}, false},
		{"hang", []string{"deadlock"}, true},
		{"hang", []string{"deadlock", "worker at a.Bank.*"}, false},
	} {
		got := known.Warnings(&misstepv1.KnownBug{
			Id: "P-1", Matches: []*misstepv1.KnownMatch{{Kind: c.kind, Parts: c.parts}},
		})
		assert.Equal(t, c.wide, len(got) == 1, "%v: %v", c.parts, got)
	}
}

// A mistyped version is a valid name of a build, so that only a warning can tell.
func TestWarningsOfFixedIn(t *testing.T) {
	got := known.Warnings(&misstepv1.KnownBug{Id: "P-1", FixedIn: []string{"17.0.16", "28+15", "banana"}})
	assert.Equal(t, []string{
		`P-1: fixed_in "banana" is no version such as 17.0.16 or 28+15; it will only match a JDK build of that name`,
	}, got)
}

// Entries of one's own come first, and replace built-in ones with the same id.
func TestWith(t *testing.T) {
	s := &misstepv1.Signature{Kind: "mismatch", Parts: []string{"gst-asgct", "truncated", "upcall <clinit>"}}
	match := []*misstepv1.KnownMatch{{Kind: "mismatch", Parts: []string{"gst-asgct", "truncated", "upcall *"}}}
	own, err := known.Own([]*misstepv1.KnownBug{{Id: "P-1", Matches: match}})
	require.NoError(t, err)
	assert.Equal(t, []string{"P-1", "JDK-8303444"}, known.Default().With(own).Labels(s, jdk(jdk17)))
	other, err := known.Own([]*misstepv1.KnownBug{{
		Id: "JDK-8303444", Matches: []*misstepv1.KnownMatch{{Kind: "crash", Parts: []string{"SIGSEGV"}}},
	}})
	require.NoError(t, err)
	assert.Empty(t, known.Default().With(other).Labels(s, jdk(jdk17)))
	assert.Equal(t, []string{"JDK-8303444"}, known.Default().Labels(s, jdk(jdk17)), "the built-in catalogue is unchanged")
}

func TestCataloguesAreBounded(t *testing.T) {
	text := strings.Repeat("- {id: a, matches: [{kind: mismatch, parts: [b]}]}\n", 1+known.MaxBytes/50)
	_, err := known.ParseOwn([]byte(text))
	require.ErrorContains(t, err, "expected at most 2048 KiB: divide the file")
}

// A hostile file's warnings appear once, and no more than a screen or two of them.
func TestAllWarningsAreBounded(t *testing.T) {
	wide := func(id string, n int) *misstepv1.KnownBug {
		b := &misstepv1.KnownBug{Id: id}
		for range n {
			b.Matches = append(b.Matches, &misstepv1.KnownMatch{Kind: "crash", Parts: []string{"SIGSEGV", "*"}})
		}
		return b
	}
	got := known.AllWarnings([]*misstepv1.KnownBug{wide("A", 20_000), wide("B", 1)})
	require.Len(t, got, 2)
	require.Contains(t, got[0], "would get this label, too (20000 times)")
	require.NotContains(t, got[1], "times")

	var many []*misstepv1.KnownBug
	for i := range 500 {
		many = append(many, wide(fmt.Sprint("B", i), 1))
	}
	got = known.AllWarnings(many)
	require.Len(t, got, 101)
	require.Equal(t, "and 400 more", got[100])

	long := &misstepv1.KnownBug{Id: "L", FixedIn: []string{strings.Repeat("x", 1<<20)}}
	require.Less(t, len(known.AllWarnings([]*misstepv1.KnownBug{long})[0]), 500)
}
