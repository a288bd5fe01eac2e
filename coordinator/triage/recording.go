package triage

import (
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Kinds of faults of a recording.
const (
	undefinedConstant = "undefined-constant"
	duplicateID       = "duplicate-id"
	eventTime         = "event-time"
	chunkOrder        = "chunk-order"
	chunkLayout       = "chunk-layout"
)

// recordingRules apply to what is wrong in a recording by itself.
var recordingRules = []rule{{
	name: "recorded",
	doc: "A type and a field locate what a recording lacks or gives twice, an event's type what is out of time. Ids, chunks and " +
		"positions differ from run to run.",
	when: always,
	then: func(f *Facts) verdict {
		return f.verdict("", signature.Place{Kind: signature.Recorded, Method: f.Recorded}, f.Recorded)
	},
}}

// recorded returns what locates a fault: "TYPE of REFERRER.FIELD", "TYPE.FIELDS", "TYPE before" or "chunk: WHAT".
func recorded(r *misstepv1.RecordingFault) string {
	switch {
	case r.GetType() == "":
		return "chunk: " + r.GetField()
	case r.GetReferrer() != "" && r.GetField() != "":
		return r.GetType() + " of " + r.GetReferrer() + "." + r.GetField()
	case r.GetReferrer() != "":
		return r.GetType() + " of " + r.GetReferrer()
	case r.GetField() == "before" || r.GetField() == "after":
		return r.GetType() + " " + r.GetField()
	}
	return r.GetType() + "." + r.GetField()
}
