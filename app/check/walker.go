package check

import (
	"fmt"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// walkers are what a check or a limit can be restricted to: the names of options, and those of recipe.Check.Suspect.
var walkers = []struct{ name, suspect string }{
	{"asgct", recipe.WalkerAsgct},
	{"gst", recipe.WalkerGst},
	{"jfr", recipe.SamplerJFR},
	{"async-profiler", recipe.SamplerAsync},
}

// suspectOf returns what the checks of a walker judge, by its name in options; option is named in the error.
func suspectOf(option, name string) (string, error) {
	var names []string
	for _, w := range walkers {
		if w.name == name {
			return w.suspect, nil
		}
		names = append(names, w.name)
	}
	return "", fmt.Errorf("%s: %q is no walker; there are %s", option, name, strings.Join(names, ", "))
}

// ofWalker leaves out the checks that judge other walkers, and those that judge whatever walks. The edges of a recording are those
// of the sampler that made it.
func (s Selection) ofWalker(list []*misstepv1.Check) ([]*misstepv1.Check, error) {
	if s.Walker == "" {
		return list, nil
	}
	suspect, err := suspectOf("--walker", s.Walker)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c *misstepv1.Check) bool {
		known, _ := recipe.FindCheck(c.GetName())
		return known.Suspect != suspect && (known.Name != recipe.EventEdges || s.Profiler.GetName() != s.Walker)
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("--walker %s: no check that fits judges it; --profiler starts a profiler, and without --light "+
			"methods are instrumented", s.Walker)
	}
	return list, nil
}
