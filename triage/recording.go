package triage

import "misstep/signature"

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
