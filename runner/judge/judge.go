// Package judge gives the verdicts of checks that are made after the trial, from the recording that a profiler left.
package judge

import misstepv1 "misstep/proto/misstep/v1"

// Verdicts are the counts of one check and its mismatches.
type Verdicts struct {
	Count      *misstepv1.CheckCount
	Mismatches []*misstepv1.Mismatch // at most as many as the trial's limit; most frequent first, with Count set
}
