package store

import (
	"slices"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Repetition is a recorded trial that is to be run once more by somebody else. It is no job of its campaign: it may outlive it, and
// its result is none of the campaign's trials.
type Repetition struct {
	Campaign string
	// Index of the trial in its campaign.
	Index uint64
	// Lease under which it runs; empty while it waits.
	Lease string
	// Needs is the capability that a runner needs for it, as for a Job.
	Needs string
	// Proto is the rest.
	Proto *misstepv1.Repetition
}

// GetProto returns its message; nil for no repetition.
func (r *Repetition) GetProto() *misstepv1.Repetition {
	if r == nil {
		return nil
	}
	return r.Proto
}

// RepetitionRows are the repetitions by campaign and index. They are of the coordinator, not of a project: Campaign is the key of
// the whole store, also inside of a project's transaction.
type RepetitionRows interface {
	PutRepetition(*Repetition) error
	DeleteRepetition(campaign string, index uint64) error
	// Repetition returns the repetition of a trial; ErrNotFound.
	Repetition(campaign string, index uint64) (*Repetition, error)
	// Repetitions returns those that match the filter, by the time at which they were drawn, then by campaign and index.
	Repetitions(RepetitionFilter) ([]*Repetition, error)
	// CountRepetitions returns the number of repetitions that wait.
	CountRepetitions() (uint64, error)
}

// RepetitionFilter selects repetitions; the zero filter matches everything.
type RepetitionFilter struct {
	// For, unless nil, matches those that wait and that its runner may run.
	For *Repeater
	// DrawnBy, unless zero, matches those that were drawn not after it.
	DrawnBy time.Time
	// Limit, unless 0, is the greatest number of repetitions to return.
	Limit int
}

// Repeater is a runner that may run repetitions.
type Repeater struct {
	// Owner and Holder of it: its owner's results are repeated by others.
	Owner, Holder string
	// Late is the time until which a repetition must have been drawn for another runner of the same owner to do.
	Late         time.Time
	Capabilities []string
	AgentDigest  string
}

// Matches reports whether a repetition matches the filter.
func (f RepetitionFilter) Matches(r *Repetition) bool {
	drawn := r.Proto.GetDrawn().AsTime()
	return (f.DrawnBy.IsZero() || !drawn.After(f.DrawnBy)) && (f.For == nil || r.Lease == "" && f.For.mayRun(r, drawn))
}

func (f *Repeater) mayRun(r *Repetition, drawn time.Time) bool {
	elsewhere := r.Proto.GetOwner() != f.Owner || r.Proto.GetHolder() != f.Holder && !drawn.After(f.Late)
	agent := r.Proto.GetAgentDigest()
	return elsewhere && (agent == "" || agent == f.AgentDigest) && (r.Needs == "" || slices.Contains(f.Capabilities, r.Needs))
}

// repetition ends the campaign of the lease of a repetition, so that it is neither counted nor cancelled with the campaign's.
const repetition = "~"

// RepetitionOf returns the campaign that the lease of a repetition has.
func RepetitionOf(campaign string) string { return campaign + repetition }

// Repeated returns the campaign whose trial a lease runs, and whether it is a repetition.
func Repeated(campaign string) (of string, repeats bool) {
	return strings.CutSuffix(campaign, repetition)
}
