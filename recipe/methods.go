package recipe

import (
	"fmt"
	"slices"
	"strconv"

	misstepv1 "misstep/proto/misstep/v1"
)

// MethodElements returns the methods that a recipe instruments by name if there are at least two.
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

// NarrowingElement returns the element whose removal restricts instrumentation to the given methods. It returns none when the
// recipe already names methods, instruments none, or needs none.
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

// without returns the list without its first x.
func without(list []string, x string) []string {
	if i := slices.Index(list, x); i >= 0 {
		return slices.Delete(slices.Clone(list), i, i+1)
	}
	return list
}

// withoutArgument returns the list without argument a, which was the i-th of all and may have become 1. As arguments before it may
// have been removed, the last candidate up to i is taken.
func withoutArgument(list []string, a string, i int) []string {
	_, err := strconv.ParseUint(a, 10, 63)
	for j := min(i, len(list)-1); j >= 0; j-- {
		if list[j] == a || err == nil && list[j] == "1" {
			return slices.Delete(slices.Clone(list), j, j+1)
		}
	}
	return list
}
