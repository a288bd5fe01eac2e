package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMethods(t *testing.T) {
	require.Equal(t, []string{"a/B.<init>()V", "a/B.m(I)La/C;"},
		ParseMethods([]byte("# instrumented methods\na/B.m(I)La/C;\na/B.<init>()V\na/B.m(I)La/C;\na/B.unfini")))
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a/B.m%d()V\n", i)
		}
		return b.String()
	}
	require.Len(t, ParseMethods([]byte(many(MaxMethods))), MaxMethods)
	for _, bad := range []string{"", many(MaxMethods + 1), many(3) + "...\n", "a/B.m\n", "a/B()V\n", "a/B.m ()V\n", "a/\xff.m()V\n", strings.Repeat("#\n", MaxMethodsBytes)} {
		require.Empty(t, ParseMethods([]byte(bad)))
	}
}

// The Java half writes what this reads.
func TestMethodListIsThatOfTheJavaHalf(t *testing.T) {
	source, err := os.ReadFile("java/src/main/java/misstep/agent/MethodList.java")
	require.NoError(t, err)
	require.Contains(t, string(source), fmt.Sprintf("NAME = %q;", FileMethods))
	require.Contains(t, string(source), fmt.Sprintf("MOST = %d;", MaxMethods))
}

func FuzzParseMethods(f *testing.F) {
	f.Add([]byte("# x\na/B.m()V\n...\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range ParseMethods(data) {
			require.NotContains(t, m, "\n")
			require.Contains(t, m, "(")
		}
	})
}
