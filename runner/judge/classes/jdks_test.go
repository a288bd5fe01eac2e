package classes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// The JDKs of the catalogue are read as they are; no JVM runs.
func TestClassesOfJDKs(t *testing.T) {
	for _, name := range []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk28"} {
		t.Run(name, func(t *testing.T) {
			p, err := Open("", testenv.Catalogued(t, name).Path)
			require.NoError(t, err)
			defer p.Close()
			for class, method := range map[string][2]string{
				"java.lang.String":                  {"indexOf", "(Ljava/lang/String;)I"},
				"java.util.concurrent.FutureTask":   {"run", "()V"},
				"java.lang.Thread":                  {"run", "()V"},
				"sun.nio.ch.FileChannelImpl":        {"force", "(Z)V"},
				"java.sql.DriverManager":            {"getConnection", "(Ljava/lang/String;)Ljava/sql/Connection;"},
				"java.lang.invoke.MethodHandleImpl": {"<clinit>", "()V"},
			} {
				found := p.Find(class)
				require.Len(t, found, 1, class)
				assert.True(t, found[0].Has(method[0], method[1]), "%s.%s%s", class, method[0], method[1])
				assert.Positive(t, found[0].Line(method[0], method[1], 0), "%s.%s%s", class, method[0], method[1])
			}
			assert.Empty(t, p.Errors)
			assert.Equal(t, "java/lang/Object", p.Find("java.lang.Thread")[0].Super)
			assert.Empty(t, p.Find("java.lang.Absent"))
		})
	}
}
