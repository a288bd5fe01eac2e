package signature

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// vector is a line of testdata/ids.txt.
type vector struct {
	id, former string
	signature  *misstepv1.Signature
}

func vectors(t testing.TB) (all []vector) {
	t.Helper()
	text, err := os.ReadFile("testdata/ids.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		require.GreaterOrEqual(t, len(fields), 4, line)
		all = append(all, vector{fields[0], fields[1], &misstepv1.Signature{Kind: fields[2], Parts: fields[3:], Version: 1}})
	}
	return all
}

// What is written in ids.txt holds forever: there is no switch that writes the file anew.
func TestIDsAreFrozen(t *testing.T) {
	kinds := map[string]int{}
	seen := map[string]bool{}
	for _, v := range vectors(t) {
		kinds[v.signature.GetKind()]++
		require.False(t, seen[v.id], v.id)
		seen[v.id] = true
		assert.Equal(t, v.id, ID(v.signature), "%v", v.signature)
		assert.True(t, HasID(v.signature, v.id))
		assert.True(t, HasID(v.signature, v.former), "%v had the id %s", v.signature, v.former)
		assert.False(t, HasID(v.signature, "F000000000000"))

		s, err := Read(v.signature)
		require.NoError(t, err)
		assert.True(t, proto.Equal(v.signature, Proto(s)), "%v", s)
		again, err := Parse(Text(s))
		require.NoError(t, err)
		assert.Equal(t, s, again)
	}
	assert.Len(t, kinds, len(Kinds))
	assert.GreaterOrEqual(t, len(seen), 30)
}

// A signature of version 0 has the id that the same finding has today, and says what it had.
func TestUpgrade(t *testing.T) {
	for _, v := range vectors(t) {
		old := reword(v.signature, to0, 0)
		now, former := Upgrade(old)
		assert.True(t, proto.Equal(v.signature, now), "%v became %v", old, now)
		assert.Equal(t, v.former, former, "%v", old)
		assert.Equal(t, v.id, ID(old))
		assert.True(t, Same(old, v.signature))
		again, former := Upgrade(now)
		assert.Same(t, now, again)
		assert.Empty(t, former)
	}
}

func TestUpgradeFinding(t *testing.T) {
	old := &misstepv1.Signature{Kind: KindMismatch, Parts: []string{"gst-asgct", "truncated", "upcall <clinit>"}}
	f := &misstepv1.Finding{Id: "F313247774e0d", Signature: proto.CloneOf(old)}
	for range 2 {
		UpgradeFinding(f)
		assert.Equal(t, "F598b0c04d78c", f.GetId())
		assert.Equal(t, []string{"F313247774e0d"}, f.GetFormerIds())
		assert.Equal(t, uint32(Version), f.GetSignature().GetVersion())
	}
	merged := &misstepv1.Finding{Id: "F0123456789ab", Signature: proto.CloneOf(old)} // of which an alias's signature is shown
	UpgradeFinding(merged)
	assert.Equal(t, "F0123456789ab", merged.GetId())
	assert.Empty(t, merged.GetFormerIds())
	UpgradeFinding(nil)
	UpgradeFinding(&misstepv1.Finding{})
}

func TestBadSignaturesAreRefused(t *testing.T) {
	of := func(kind string, parts ...string) *misstepv1.Signature {
		return &misstepv1.Signature{Kind: kind, Parts: parts, Version: 1}
	}
	for want, p := range map[string]*misstepv1.Signature{
		"expected mismatch, crash, hang or failure": of("colour", "red"),
		"expected check, kind and place":            of(KindMismatch, "gst-asgct"),
		"place \"code x\"":                          of(KindMismatch, "gst-asgct", "code", "code x"),
		"expected 5 parts":                          of(KindCrash, "SIGSEGV"),
		"expected \"thread: \"":                     of(KindCrash, "SIGSEGV", "frame: f", "walker: none", "Java", "operation: none"),
		"expected its cause":                        of(KindHang),
		"expected reason and message":               of(KindFailure, "exception"),
		"version 2":                                 {Kind: KindHang, Parts: []string{"limit"}, Version: 2},
	} {
		_, err := Read(p)
		require.ErrorContains(t, err, want)
	}
	_, err := Read(nil)
	require.Error(t, err)
	for want, text := range map[string]string{
		"first line":        "misstep signature 2\nhang\nlimit\n",
		"does not end":      "misstep signature 1\nhang\nlimit",
		"no printable text": "misstep signature 1\nhang\nli\tmit\n",
	} {
		_, err := Parse(text)
		assert.ErrorContains(t, err, want)
	}
}

func TestClean(t *testing.T) {
	assert.Equal(t, "a b?c", Clean("a\nb\xffc"))
	long := Clean(strings.Repeat("ä", 200))
	assert.Equal(t, strings.Repeat("ä", 150)+"…", long)
	assert.Equal(t, long, Clean(long))
	assert.Equal(t, Clean("x"+strings.Repeat("ä", 200)), Clean(Clean("x"+strings.Repeat("ä", 200))))
}

// Whatever is read back is what was written, and has the same id.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(text(v.signature.GetKind(), v.signature.GetParts()))
	}
	f.Fuzz(func(t *testing.T, s string) {
		read, err := Parse(s)
		if err != nil {
			return
		}
		if again := Text(read); again != s {
			t.Fatalf("%q was written as %q", s, again)
		}
		if p := Proto(read); ID(p) != id([]byte(s)) || !slices.Equal(p.GetParts(), clean(p.GetParts()...)) {
			t.Fatalf("%q has the id %s", s, ID(p))
		}
	})
}
