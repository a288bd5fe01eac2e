package reproduction

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestPerturbationsToAmplifyBy(t *testing.T) {
	recipe := &misstepv1.Recipe{Checks: []*misstepv1.Check{{Name: "gst-asgct"}}}
	inMachine := &misstepv1.Recipe{Executor: "vm"}
	one := func(strategy, mechanism string) []*misstepv1.Perturbation {
		return []*misstepv1.Perturbation{{Strategy: strategy, Mechanism: mechanism}}
	}
	for _, c := range []struct {
		names  []string
		recipe *misstepv1.Recipe
		have   []string
		want   []*misstepv1.Perturbation
		err    string
	}{
		{nil, recipe, nil, one("chaos", "agent"), ""},
		{[]string{"none"}, recipe, nil, nil, ""},
		{[]string{"delay@agent"}, recipe, nil, one("delay", "agent"), ""},
		{[]string{"chaos"}, recipe, []string{"sched_ext"}, one("chaos", ""), ""},
		{[]string{"chaos"}, inMachine, nil, one("chaos", ""), ""},
		{[]string{"chaos"}, recipe, nil, nil, "chaos: this machine has no sched_ext; chaos@agent"},
		{[]string{"chaos@sched_ext"}, recipe, []string{"vm"}, nil, "no sched_ext"},
		{[]string{"chaos@agent"}, inMachine, nil, nil, "no points"},
		{[]string{"chaos@magic"}, recipe, nil, nil, `unknown mechanism "magic"`},
		{[]string{"mayhem@agent"}, recipe, nil, nil, `unknown strategy "mayhem"`},
	} {
		got, err := perturbations(c.names)
		if err == nil {
			err = unsupported(got, c.recipe, c.have)
		}
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%v", c.names)
			continue
		}
		require.NoError(t, err, "%v", c.names)
		require.Len(t, got, len(c.want), "%v", c.names)
		for i := range got {
			assert.True(t, proto.Equal(c.want[i], got[i]), "%v: %v", c.names, got)
		}
	}
}
