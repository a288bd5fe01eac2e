package misstepv1

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

func sample() *Recipe {
	return &Recipe{
		Jdk:      &Jdk{Name: "jdk17", Digest: "sha256:" + strings.Repeat("ab", 32)},
		Workload: &Workload{Name: "h2", Arguments: []string{"<4>", "&"}},
		JvmFlags: []string{"-Xcomp"},
		Sampling: &Sampling{Interval: durationpb.New(1500 * time.Microsecond)},
		Checks:   []*Check{{Name: "gst-asgct", Share: 0.01}},
		Seed:     1<<63 + 12345,
		Perturbation: &Perturbation{
			Strategy:   "delay",
			Parameters: map[string]float64{"p": 0.2, "max": 10, "a": 1},
		},
	}
}

// TestCanonicalIsStable pins the text: a changed digest of an old recipe would orphan every stored reproducer.
func TestCanonicalIsStable(t *testing.T) {
	digest, err := RecipeDigest(sample())
	require.NoError(t, err)
	text, err := CanonicalRecipe(sample())
	require.NoError(t, err)
	require.Equal(t, "sha256:6ee649aee621ce9d51fa39a12d0cf9cd22b6853cc2a4eada0f04352ee90024cf", digest, "text:\n%s", text)
	for range 20 {
		again, err := CanonicalRecipe(sample())
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	}
}

func TestCanonicalReadsBack(t *testing.T) {
	text, err := CanonicalRecipe(sample())
	require.NoError(t, err)
	var back Recipe
	require.NoError(t, protojson.Unmarshal(text, &back))
	require.True(t, proto.Equal(sample(), &back))
}

func TestDigestSeesEveryField(t *testing.T) {
	base, err := RecipeDigest(sample())
	require.NoError(t, err)
	for name, change := range map[string]func(*Recipe){
		"seed":      func(r *Recipe) { r.Seed++ },
		"flag":      func(r *Recipe) { r.JvmFlags = append(r.JvmFlags, "-Xint") },
		"parameter": func(r *Recipe) { r.Perturbation.Parameters["p"] = 0.3 },
		"share":     func(r *Recipe) { r.Checks[0].Share = 0.02 },
	} {
		r := sample()
		change(r)
		got, err := RecipeDigest(r)
		require.NoError(t, err)
		require.NotEqual(t, base, got, name)
	}
}
