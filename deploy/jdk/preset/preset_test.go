package preset

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func flags(t *testing.T, name string, feature int, has map[string]string) []string {
	t.Helper()
	p, ok := Find(name)
	require.True(t, ok)
	all, err := p.Flags(feature, has)
	require.NoError(t, err)
	return all
}

func TestFlagsFitTheJDK(t *testing.T) {
	zgc := map[string]string{"UseZGC": Product}
	require.Equal(t, []string{"-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"},
		flags(t, "zgc", 11, map[string]string{"UseZGC": Experimental}))
	require.Equal(t, []string{"-XX:+UseZGC"}, flags(t, "zgc", 17, zgc))
	require.Equal(t, []string{"-XX:+UseZGC", "-XX:+ZGenerational"},
		flags(t, "zgc-generational", 21, map[string]string{"UseZGC": Product, "ZGenerational": Product}))
	require.Equal(t, []string{"-XX:+UseZGC"}, flags(t, "zgc-generational", 24, zgc), "the flag is removed, the mode remains")
	require.Equal(t, []string{"-Xint"}, flags(t, "int", 8, nil), "every JVM has it")
	require.Equal(t, []string{"-XX:-Inline", "-XX:MaxInlineLevel=0"},
		flags(t, "no-inline", 8, map[string]string{"Inline": Product, "MaxInlineLevel": Product}))
	require.Equal(t, []string{"-XX:+UnlockDiagnosticVMOptions", "-XX:+StressLCM", "-XX:+StressGCM", "-XX:StressSeed=1"},
		flags(t, "c2-stress", 17, map[string]string{"StressLCM": Diagnostic, "StressGCM": Diagnostic, "StressSeed": Diagnostic}))
}

func TestUnsupportedPresetsAreExplained(t *testing.T) {
	for name, want := range map[string]string{
		"zgc": "no flag UseZGC", "zgc-generational": "needs JDK 21 or newer",
		"compact-headers": "no flag UseCompactObjectHeaders",
	} {
		p, ok := Find(name)
		require.True(t, ok)
		_, err := p.Flags(8, map[string]string{"UseG1GC": Product})
		require.ErrorContains(t, err, want)
	}
	_, ok := Find("")
	require.False(t, ok, "an empty name is no preset")
}

func TestPresetsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		require.False(t, seen[p.Name], p.Name)
		seen[p.Name] = true
		require.NotEmpty(t, p.Does, p.Name)
		require.NotEmpty(t, p.required, p.Name)
		for _, f := range append(p.required, p.optional...) {
			require.Regexp(t, `^-(X(int|comp)|XX:([+-]\w+|\w+=[\w-]+))$`, f)
		}
	}
}
