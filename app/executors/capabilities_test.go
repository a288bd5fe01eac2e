package executors

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is asked for and missing is an error: a runner that offered less than its group's others would never be noticed.
func TestOffered(t *testing.T) {
	have := []string{"sched_ext", "vm"}
	for _, c := range []struct {
		asked, want []string
		err         string
	}{
		{nil, have, ""},
		{[]string{"none"}, nil, ""},
		{[]string{"vm"}, []string{"vm"}, ""},
		{[]string{"vm-deterministic"}, nil, "offer vm-deterministic: this machine has none (start one where"},
		{[]string{"none", "vm"}, nil, "nothing can be offered beside none"},
		{[]string{"gpu"}, nil, "offer gpu: expected sched_ext, vm, vm-deterministic or none"},
	} {
		got, err := Offered(c.asked, have)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}
