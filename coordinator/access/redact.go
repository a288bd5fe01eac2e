package access

import "regexp"

// TokenPrefix begins every token that a coordinator makes.
const TokenPrefix = "misstep_"

// secrets matches tokens of coordinators from their secret on, and JSON Web Tokens.
var secrets = regexp.MustCompile(`(misstep_[0-9a-v]{10}_)[0-9A-Za-z_-]+|()eyJ[\w-]*\.[\w-]*(?:\.[\w-]*)*`)

// Redact returns a string with the secrets of tokens replaced by "…".
func Redact(text string) string { return secrets.ReplaceAllString(text, "${1}…") }
