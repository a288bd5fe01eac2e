package executors

import (
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/sandbox"
)

// Each thing that nothing confines is named once, with its remedy.
func TestGapsOfAnOrdinaryUser(t *testing.T) {
	confined := []sandbox.Part{{Name: "user", By: "one of its own for each"}, {Name: "network", By: "network namespace"}}
	require.Empty(t, gaps(confined, nil, 0))

	all := gaps([]sandbox.Part{
		{Name: "user", By: "this process's own, 1000"},
		{Name: "files", By: "Landlock 4"},
		{Name: "network", Missing: "no namespaces: run as root"},
		{Name: "processes", Missing: "no Landlock 6: run as root"},
	}, []string{"memory", "processes and threads"}, 1000)
	var what []string
	for _, g := range all {
		what = append(what, g.What)
		require.NotEmpty(t, g.Remedy, g.What)
	}
	require.Equal(t, []string{
		"user: programs run as the runner's own, 1000, and may ask its services by Unix sockets", "network", "processes",
		"memory, processes and threads: looked at twice a second, not bounded by the kernel",
	}, what)
}
