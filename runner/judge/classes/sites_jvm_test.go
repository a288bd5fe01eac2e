package classes

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/internal/testenv"
)

// leastSame is the share of the classes of a run that must be in class files: the others are made as the program runs.
const leastSame = 0.5

// What is read from class files is what the agent writes of the same classes in a JVM.
func TestClassFilesSayWhatTheAgentSays(t *testing.T) {
	a, err := agent.Find(testenv.Agent(t))
	require.NoError(t, err)
	for _, name := range []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk28"} {
		t.Run(name, func(t *testing.T) {
			j, dir := testenv.Catalogued(t, name), t.TempDir()
			output, err := exec.Command(testenv.Javac(t), "--release", "8", "-Xlint:-options", "-d", dir,
				"../edges/testdata/Events.java").CombinedOutput()
			require.NoError(t, err, "%s", output)
			arguments, err := agent.JVMArgs(a, "", j.Feature, agent.Options{Out: dir, Seed: 1, Sites: true})
			require.NoError(t, err)
			output, err = exec.CommandContext(t.Context(), j.Tool("java"),
				append(append([]string{"-Xmx256m"}, arguments...), "-cp", dir, "Events", "500")...).CombinedOutput()
			require.NoError(t, err, "%s", output)
			sites, err := agent.ReadSites(filepath.Join(dir, agent.FileSites))
			require.NoError(t, err)
			p, err := Open(dir, j.Path)
			require.NoError(t, err)
			defer p.Close()
			redefined := map[string]bool{}
			for _, name := range sites.Redefined {
				redefined[name] = true
			}
			same, all := 0, 0
			for _, c := range sites.Classes {
				if all++; redefined[c.Name] {
					continue
				}
				for _, found := range p.Find(c.Name) {
					same++
					require.Equal(t, linesOf(withoutOverpasses(c, found)), linesOf(found.SiteClass), c.Name)
				}
			}
			t.Logf("%d of %d classes are in class files", same, all)
			assert.Greater(t, float64(same), leastSame*float64(all))
			assert.Empty(t, p.Errors)
		})
	}
}

// withoutOverpasses leaves out the methods that the VM adds to a class without an implementation of an interface's (HotSpot
// defaultMethods.cpp); JVMTI shows them on 8.
func withoutOverpasses(c agent.SiteClass, file *Class) agent.SiteClass {
	c.Methods = slices.DeleteFunc(slices.Clone(c.Methods), func(m agent.SiteMethod) bool {
		return !file.Has(m.Name, m.Descriptor) && slices.ContainsFunc(m.Code, func(s agent.Site) bool {
			return s.Target >= 0 && slices.Contains(overpassErrors, c.Targets[s.Target].Owner)
		})
	})
	return c
}

var overpassErrors = []string{"java/lang/AbstractMethodError", "java/lang/IncompatibleClassChangeError"}

// linesOf returns what matters of a class, whatever the order of its methods and targets is.
func linesOf(c agent.SiteClass) map[string]string {
	lines := map[string]string{"": fmt.Sprint(c.Super, c.Interface)}
	for _, m := range c.Methods {
		var b strings.Builder
		fmt.Fprint(&b, m.Native, m.Static, m.Upcall)
		for _, s := range m.Code {
			fmt.Fprintf(&b, "\n%d %d %d", s.BCI, s.Occasions, s.Opcode)
			if s.Target >= 0 {
				fmt.Fprintf(&b, " %+v", c.Targets[s.Target])
			}
		}
		lines[m.Name+m.Descriptor] = b.String()
	}
	return lines
}
