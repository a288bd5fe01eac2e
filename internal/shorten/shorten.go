// Package shorten shortens text of foreign origin, for errors and stored reasons.
package shorten

import "unicode/utf8"

// To returns text unchanged if it has at most limit bytes; otherwise the characters that lie within the limit completely, and "…".
func To(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
