package signature

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// What a rule's name must have in it keeps no name from a rule that changes it.
func TestClassRulesHave(t *testing.T) {
	changed := map[int]bool{}
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a.Foo", ".", "/", "+", "$", "$$", "1", "12", "0x", "00ff80c0", "Lambda", "LambdaForm", "MH", "_L", "jdk.proxy", "com.sun.proxy",
			"Proxy", "Generated", "Serialization", "Method", "Constructor", "Field", "Accessor", "ByteBuddy", "MockitoMock", "aB3dE5fG",
		}), 1, 7).Draw(t, "parts"), "")
		for i, r := range classRules {
			if after := r.re.ReplaceAllString(name, r.to); after != name {
				changed[i] = true
				assert.Contains(t, name, r.has, "rule %d", i)
			}
		}
	})
	for _, name := range []string{
		"Foo$$Lambda$14/0x00000008000c0a40", "Foo/0x0000000800066c00", "Foo.1234567", "LambdaForm$DMH003_000_L", "jdk.proxy2.$Proxy7",
		"$Proxy12", "GeneratedMethodAccessor12", "Foo$$EnhancerByX$$1a2b3c4d", "Foo$ByteBuddy$aB3dE5fG",
	} {
		for i, r := range classRules {
			if r.re.ReplaceAllString(name, r.to) != name {
				changed[i] = true
				assert.Contains(t, name, r.has, "rule %d", i)
			}
		}
	}
	assert.Len(t, changed, len(classRules), "each rule was tried")
}
