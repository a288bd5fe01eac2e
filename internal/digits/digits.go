// Package digits writes large numbers so that people can read them.
package digits

// Group is a integer with a thin space that does not break between each three digits.
func Group(number string) string {
	for at := len(number) - 3; at > 0; at -= 3 {
		number = number[:at] + "\u202f" + number[at:]
	}
	return number
}
