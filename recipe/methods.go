package recipe

import (
	"fmt"
	"slices"
	"strconv"

	misstepv1 "misstep/proto/misstep/v1"
)

// MethodElements are the methods that a recipe instruments by name, where there are several.
func MethodElements(r *misstepv1.Recipe) (out []Element) {
	only := r.GetInstrumentation().GetOnly()
	if len(only) < 2 {
		return nil
	}
	for _, name := range only {
		out = append(out, Element{"method", name, func(r *misstepv1.Recipe) {
			if r.Instrumentation != nil { // the recipe may instrument by ratio again
				r.Instrumentation.Only = without(r.Instrumentation.Only, name)
			}
		}})
	}
	return out
}

// NarrowingElement is the element whose removal leaves only the methods given to be instrumented; it is none when the recipe names
// methods already, instruments none, or needs none.
func NarrowingElement(r *misstepv1.Recipe, only []string) []Element {
	i := r.GetInstrumentation()
	ratio := 1.0
	if i != nil {
		ratio = i.GetRatio()
	}
	if len(i.GetOnly()) > 0 || len(only) == 0 || ratio == 0 || !NeedsMethods(r.GetChecks(), r.GetPerturbation()) {
		return nil
	}
	return []Element{{"instrumentation", fmt.Sprintf("ratio %g", ratio), func(r *misstepv1.Recipe) {
		r.Instrumentation = &misstepv1.Instrumentation{Only: slices.Clone(only)}
	}}}
}

// without the first x.
func without(list []string, x string) []string {
	if i := slices.Index(list, x); i >= 0 {
		return slices.Delete(slices.Clone(list), i, i+1)
	}
	return list
}

// withoutArgument a, which was the i-th of all and may be 1 by now. Arguments before it may be gone, so it is the last of those
// that it can be.
func withoutArgument(list []string, a string, i int) []string {
	_, err := strconv.ParseUint(a, 10, 63)
	for j := min(i, len(list)-1); j >= 0; j-- {
		if list[j] == a || err == nil && list[j] == "1" {
			return slices.Delete(slices.Clone(list), j, j+1)
		}
	}
	return list
}
