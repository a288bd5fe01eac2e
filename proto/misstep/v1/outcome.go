package misstepv1

import "strings"

// OutcomeName returns the name of an outcome's kind in text and JSON for people, e.g. "clean" or "application-failure".
func OutcomeName(kind OutcomeKind) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(kind.String(), "OUTCOME_KIND_")), "_", "-")
}
