package signature

import misstepv1 "misstep/proto/misstep/v1"

// RecordedAt returns what locates a fault of a recording, which is the Method of a place of kind Recorded: "TYPE of
// REFERRER.FIELD", "TYPE.FIELDS", "TYPE before" or "chunk: WHAT".
func RecordedAt(r *misstepv1.RecordingFault) string {
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
