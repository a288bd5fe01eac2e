package triage

import (
	"regexp"
	"strings"
)

var (
	uuidRE    = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	addressRE = regexp.MustCompile(`0[xX][0-9a-fA-F]+|@[0-9a-f]{1,16}\b`) // and Object.toString
	ipv6RE    = regexp.MustCompile(`(?i)\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b`)
	wordRE    = regexp.MustCompile(`[0-9A-Za-z]+`)
	numberRE  = regexp.MustCompile(`\d+(?:[.,:]\d+)*`) // IPv4 addresses, versions and times as well
	hexRE     = regexp.MustCompile(`^(?:[0-9a-f]+|[0-9A-F]+)$`)
	digitRE   = regexp.MustCompile(`\d`)
	insideRE  = regexp.MustCompile(`\d[A-Za-z]`) // a letter behind a digit
	goneRE    = regexp.MustCompile(`[-_ #.:/]*\x00+`)
	bracketRE = regexp.MustCompile(`\(\)|\[\]|\{\}`)
)

// threadName returns a thread's name without what programs make up for each thread, connection or run: numbers, UUIDs, addresses
// and hexadecimal words, with the separators before them. Words stay: "pool-3-thread-17" becomes "pool-thread".
func threadName(name string) string {
	const gone = "\x00"
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r < ' ' }), " ")
	for _, re := range []*regexp.Regexp{uuidRE, addressRE, ipv6RE} {
		name = re.ReplaceAllLiteralString(name, gone)
	}
	name = wordRE.ReplaceAllStringFunc(name, func(word string) string {
		if isMadeUp(word) {
			return gone
		}
		return word
	})
	name = numberRE.ReplaceAllLiteralString(name, gone)
	name = bracketRE.ReplaceAllLiteralString(goneRE.ReplaceAllLiteralString(name, ""), "")
	return strings.Trim(strings.Join(strings.Fields(name), " "), "-_ #.:/")
}

// isMadeUp reports whether a word with digits is hexadecimal or random. Letters that only precede digits are a word up to a length:
// "decade12".
func isMadeUp(word string) bool {
	const long, share = 8, 5
	digits, inside := len(digitRE.FindAllString(word, -1)), len(insideRE.FindAllString(word, -1))
	if hexRE.MatchString(word) {
		return inside > 0 || digits > 0 && len(word) > long
	}
	return len(word) >= long && inside >= 2 && digits*share >= len(word)
}
