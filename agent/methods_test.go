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
		ParseMethods([]byte("# instrumented methods\na/B.m(I)La/C;\na/B.<init>()V\na/B.m(I)La/C;\n"+
			"a/B.n\na/B()V\na/B.m ()V\na/\xff.m()V\n\na/B.unfinished()V")))
	var many strings.Builder
	for i := range MaxMethods {
		fmt.Fprintf(&many, "java/B.m%d()V\nz/B.m%d()V\n", i, i)
	}
	list := []byte(many.String() + "a/B.m()V\n")
	require.Len(t, ParseMethods(list), 2*MaxMethods+1)
	methods := MethodsAsEvidence(list)
	require.Len(t, methods, MaxMethods)
	require.Equal(t, "a/B.m()V", methods[0])
	require.NotContains(t, strings.Join(methods, " "), "java/", "the program's own methods take precedence")
}

// The Java half writes the file that ParseMethods reads.
func TestMethodListHasTheNameOfTheJavaHalf(t *testing.T) {
	source, err := os.ReadFile("java/src/main/java/misstep/agent/MethodList.java")
	require.NoError(t, err)
	require.Contains(t, string(source), fmt.Sprintf("NAME = %q;", FileMethods))
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
