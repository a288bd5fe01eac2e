// Package shorten shortens text that others wrote, for errors and stored reasons.
package shorten

import "unicode/utf8"

// To returns text, or where it is longer than limit bytes its first whole characters within them and "…".
func To(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
