package access_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/coordinator/access"
)

func TestATokensWorkIsItsMakers(t *testing.T) {
	for caller, person := range map[string]string{
		"":                                   "",
		"anna@example.org":                   "anna@example.org",
		"a/b":                                "a/b",
		access.TokenName("", "ci"):           "token ci",
		access.TokenName("anna@x", "ci"):     "anna@x",
		access.TokenName("https://x/y", "n"): "https://x/y",
		access.TokenName(access.TokenName("anna@x", "ci"), "other"): "anna@x",
	} {
		assert.Equal(t, person, access.PersonOf(caller), caller)
	}
}
