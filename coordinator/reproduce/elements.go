package reproduce

import (
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// ElementList are the elements of one recipe.
type ElementList []recipe.Element

// Elements returns the elements of a recipe, for other ways of minimising it. When the recipe instruments by ratio, removing the
// first element leaves the methods of the evidence, which are the last elements.
func Elements(r *misstepv1.Recipe, evidence []string, sig *misstepv1.Signature) ElementList {
	list := append(recipe.NarrowingElement(r, evidence), recipe.Elements(r, signature.CheckOf(sig))...)
	narrowed := proto.CloneOf(r)
	if len(list) > 0 && list[0].Kind == "instrumentation" {
		list[0].Drop(narrowed)
	}
	list = append(list, recipe.MethodElements(narrowed)...)
	return list
}

// Without returns a copy of the recipe without the elements that omit selects by their index.
func (l ElementList) Without(r *misstepv1.Recipe, omit func(i int) bool) *misstepv1.Recipe {
	out := proto.CloneOf(r)
	for i, e := range l {
		if omit(i) {
			e.Drop(out)
		}
	}
	return out
}

// Removal is a recipe with one of its elements removed.
type Removal struct {
	Element *misstepv1.RecipeElement
	Recipe  *misstepv1.Recipe
}

// Removals returns all runnable recipes that are one element smaller, for an exhaustive check of a reproducer.
func Removals(r *misstepv1.Recipe, sig *misstepv1.Signature) (out []Removal) {
	for _, e := range Elements(r, nil, sig) {
		smaller := proto.CloneOf(r)
		e.Drop(smaller)
		if recipe.Runnable(smaller) {
			out = append(out, Removal{e.Proto(), smaller})
		}
	}
	return out
}
