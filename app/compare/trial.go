package compare

import (
	"cmp"
	"time"

	"misstep/app/check"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
	"misstep/triage"
)

// Side is one of the two builds.
type Side int

// The sides.
const (
	Before Side = iota
	After
)

// String is the side in words.
func (s Side) String() string { return [...]string{"before", "after"}[s] }

// Trial is what a comparison keeps of one trial: a line of TrialsFile.
type Trial struct {
	// Pair that it belongs to, from 0; First tells whether it ran before the other one of the pair.
	Pair  int  `json:"pair"`
	Side  Side `json:"side"`
	First bool `json:"first"`
	// Recipe is what the pair ran, in words: workload, flag set and so on, without its seed.
	Recipe  string `json:"recipe"`
	Seed    uint64 `json:"seed"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	// Void tells that it proved nothing about any walker, as triage.Void does.
	Void bool          `json:"void,omitempty"`
	Wall time.Duration `json:"wall"`
	// Checks has the counts by check.
	Checks map[string]Counts `json:"checks"`
	// Bugs has the number of mismatches by id of the bug and check. A crash, a hang or a failure that is a finding is one in the
	// check "".
	Bugs map[string]map[string]uint64 `json:"bugs,omitempty"`
}

// Counts are those of one check in a trial. Asked are its samples, Judged those that were not void; Wrong ones have other frames
// than the thread's, Cut ones lack their bottom, Lost ones have an error code for a stack.
type Counts struct {
	Asked  uint64 `json:"asked"`
	Judged uint64 `json:"judged"`
	Wrong  uint64 `json:"wrong,omitempty"`
	Cut    uint64 `json:"cut,omitempty"`
	Lost   uint64 `json:"lost,omitempty"`
}

// Bug is a known bug, or a finding that is none on either build.
type Bug struct {
	ID    string `json:"id"`
	Known bool   `json:"known"`
	Title string `json:"title"`
}

// counter turns outcomes into trials and collects the bugs. A signature that is a known bug on one of the builds counts as that bug
// on both: the other one may have it fixed, or not yet.
type counter struct {
	jdks   [2]*misstepv1.Jdk
	bugs   map[string]Bug
	labels map[string]string // of findings, by id
	titles map[string]string // of known bugs
}

func newCounter(jdks [2]*misstepv1.Jdk) *counter {
	c := &counter{jdks: jdks, bugs: map[string]Bug{}, labels: map[string]string{}, titles: map[string]string{}}
	for _, b := range known.Default().Bugs() {
		c.titles[b.ID] = b.Title
	}
	return c
}

// trial counts what an outcome shows. What the outcome had no room for is counted with the entry of its signature, if it has any.
func (c *counter) trial(o *misstepv1.Outcome) Trial {
	t := Trial{
		Outcome: misstepv1.OutcomeName(o.GetKind()), Reason: o.GetReason(), Void: triage.Void(o), Wall: o.GetWall().AsDuration(),
		Checks: map[string]Counts{}, Bugs: map[string]map[string]uint64{},
	}
	for _, n := range o.GetChecks() {
		if of, ok := recipe.FindCheck(n.GetCheck()); ok && len(of.Kinds) > 0 {
			t.Checks[n.GetCheck()] = counts(o, n)
		}
	}
	in := map[string]bool{}
	for _, m := range o.GetMismatches() {
		sig, title := triage.Mismatch(m)
		t.add(c.bug(signature.ID(sig), sig, title), m.GetCheck(), max(m.GetCount(), 1))
		in[signature.ID(sig)] = true
	}
	for _, h := range triage.Triage(o) {
		if !in[h.ID] {
			t.add(c.bug(h.ID, h.Signature, h.Title), "", 1)
		}
	}
	return t
}

func (t *Trial) add(bug, check string, n uint64) {
	if t.Bugs[bug] == nil {
		t.Bugs[bug] = map[string]uint64{}
	}
	t.Bugs[bug][check] += n
}

func counts(o *misstepv1.Outcome, n *misstepv1.CheckCount) Counts {
	p := check.ProfileOf(o, n)
	of := func(share float64) uint64 { return uint64(share*float64(p.Samples) + 0.5) }
	return Counts{Asked: n.GetTotal(), Judged: p.Samples, Wrong: of(p.Wrong), Cut: of(p.CutOff), Lost: of(p.Lost)}
}

// bug returns the id of the bug that a finding is.
func (c *counter) bug(id string, sig *misstepv1.Signature, title string) string {
	if bug, seen := c.labels[id]; seen {
		return bug
	}
	bug := Bug{ID: id, Title: title}
	for _, jdk := range c.jdks {
		if labels := triage.KnownAs(known.Default(), sig, jdk); len(labels) > 0 {
			bug = Bug{ID: labels[0], Known: true, Title: cmp.Or(c.titles[labels[0]], title)}
			break
		}
	}
	c.bugs[bug.ID], c.labels[id] = bug, bug.ID
	return bug.ID
}
