package access

import "strings"

// tokenName begins the name of a caller with a token.
const tokenName = "token "

// TokenName returns the name of a caller with a token: by says who made it, empty for who needs no account.
func TokenName(by, name string) string {
	if by == "" {
		return tokenName + name
	}
	return tokenName + by + "/" + name
}

// PersonOf returns whose work that of a caller counts as, in shares, quotas and rates: that with a token is its maker's, so that
// tokens make nobody several people. Rights are not shared so.
func PersonOf(caller string) string {
	for {
		token, is := strings.CutPrefix(caller, tokenName)
		end := strings.LastIndexByte(token, '/')
		if !is || end < 0 {
			return caller
		}
		caller = token[:end]
	}
}
