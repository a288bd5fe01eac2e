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
	insideRE  = regexp.MustCompile(`\d[A-Fa-f]`)
	goneRE    = regexp.MustCompile(`[-_ #.:/]*\x00+`)
	bracketRE = regexp.MustCompile(`\(\)|\[\]|\{\}`)
)

// longHex is the length from which a word of hexadecimal digits is one although letters only precede its digits: "abcdef12".
const longHex = 8

// threadName returns a thread's name without what programs make up for each thread, connection or run: numbers, UUIDs, addresses and
// hexadecimal words, with the separators before them. Words stay: "pool-3-thread-17" becomes "pool-thread".
func threadName(name string) string {
	const gone = "\x00"
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r < ' ' }), " ")
	for _, re := range []*regexp.Regexp{uuidRE, addressRE, ipv6RE} {
		name = re.ReplaceAllLiteralString(name, gone)
	}
	name = wordRE.ReplaceAllStringFunc(name, func(word string) string {
		if hexRE.MatchString(word) && (insideRE.MatchString(word) || len(word) >= longHex && strings.ContainsAny(word, "0123456789")) {
			return gone
		}
		return word
	})
	name = numberRE.ReplaceAllLiteralString(name, gone)
	name = bracketRE.ReplaceAllLiteralString(goneRE.ReplaceAllLiteralString(name, ""), "")
	return strings.Trim(strings.Join(strings.Fields(name), " "), "-_ #.:/")
}
