package reference

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/recipe"
)

// LimitDefaults renders the default limits of a trial.
func LimitDefaults() string {
	var b strings.Builder
	b.WriteString("\n## Defaults of limits\n\n| field | default |\n|---|---|\n")
	limits := recipe.EffectiveLimits(nil).ProtoReflect()
	fields := limits.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name(), value(limits.Get(f)))
	}
	return b.String()
}

func value(v protoreflect.Value) string {
	if m, ok := v.Interface().(protoreflect.Message); ok {
		if d, ok := m.Interface().(*durationpb.Duration); ok {
			return d.AsDuration().String()
		}
	}
	return fmt.Sprint(v.Interface())
}
