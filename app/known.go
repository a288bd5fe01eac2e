package app

import (
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// KnownAs returns the catalogue's label of a mismatch on a JDK, e.g. "JDK-8303444"; empty if it is not a known bug.
func KnownAs(m *misstepv1.Mismatch, jdk *misstepv1.Jdk) string {
	signature, _ := triage.Mismatch(m)
	return known.Default().Label(signature, jdk.GetVersion())
}
