package signature

import (
	"regexp"
	"strings"
)

var (
	textUUID = regexp.MustCompile(`(?i)\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
	// textValue matches what follows an equals sign: "java_call_counter=1", "top = 0x7f", "state=_thread_in_vm".
	textValue = regexp.MustCompile(`(\w|\)|\])(\s*=\s*)([^\s=,;)\]]+)`)
	textHex   = regexp.MustCompile(`\b0[xX][0-9a-fA-F]+\b`)
	textWord  = regexp.MustCompile(`\b[0-9a-fA-F]*\d[0-9a-fA-F]*\b`)
	textNum   = regexp.MustCompile(`\b\d+(?:\.\d+)?(?:[KMGBkmgb%]|[KMG]B|ms|us|ns|s)?\b`)
	textBool  = regexp.MustCompile(`: (?:true|false|null|nullptr|NULL|\(nil\)|\(null\))(\W|$)`)
	textFile  = regexp.MustCompile(`(^|[\s"'(=])(?:[A-Za-z]:)?(?:[/\\][\w.+@-]+)+`)
	textSign  = regexp.MustCompile(`([\s=(,:<>\[])-(\d)`)
)

// WithoutValues replaces what a message reports of its run: values after an equals sign with VALUE, addresses with ADDR, numbers
// with NUM and UUIDs with UUID; it removes the folders of files. Names that contain digits, such as C2 and Op_LoadN4, are kept.
func WithoutValues(s string) string {
	s = textUUID.ReplaceAllString(s, "UUID")
	s = textFile.ReplaceAllStringFunc(s, func(path string) string {
		before := ""
		if strings.ContainsAny(path[:1], " \t\"'(=") {
			before = path[:1]
		}
		return before + LibraryName(path[strings.LastIndexAny(path, `/\`)+1:])
	})
	s = textValue.ReplaceAllString(s, "${1}${2}VALUE")
	s = textBool.ReplaceAllString(s, ": VALUE$1")
	s = textHex.ReplaceAllString(s, "ADDR")
	s = textWord.ReplaceAllStringFunc(s, func(word string) string {
		if len(word) <= minDigest || strings.Trim(word, "0123456789") == "" {
			return word
		}
		return "ADDR"
	})
	s = textSign.ReplaceAllString(s, "$1$2")
	return strings.Join(strings.Fields(textNum.ReplaceAllString(s, "NUM")), " ")
}
