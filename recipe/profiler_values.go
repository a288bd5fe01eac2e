package recipe

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"misstep/internal/suggest"
)

// allowed says which values an option of a profiler may have.
type allowed struct {
	// text completes "expected NAME=VALUE with".
	text string
	has  func(value string) bool
}

// problem returns what is wrong with a value, "" if nothing.
func (a allowed) problem(name, value string) string {
	if a.has(value) {
		return ""
	}
	return fmt.Sprintf("expected %s=VALUE with %s, got %s", name, a.text, suggest.Quote(name+"="+value))
}

func oneOf(values ...string) allowed {
	return allowed{"one of " + strings.Join(values, ", "), func(v string) bool { return slices.Contains(values, v) }}
}

// matching is what an anchored regular expression matches.
func matching(text, pattern string) allowed {
	return allowed{text, regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString}
}

// number is an integer of an interval.
func number(least, most int64) allowed {
	text := fmt.Sprintf("an integer from %d to %d", least, most)
	return allowed{text, func(v string) bool {
		n, err := strconv.ParseInt(v, 10, 64)
		return err == nil && least <= n && n <= most
	}}
}

// reserved are options that a recipe may not give, since the trial gives them or relies on them.
type reserved struct {
	reason string
	names  []string
}

// reservedProblem returns the reason for which an option is reserved, "" if it is not.
func reservedProblem(name string, rows []reserved) string {
	for _, row := range rows {
		if slices.Contains(row.names, name) {
			return fmt.Sprintf("%s may not be given: %s", name, row.reason)
		}
	}
	return ""
}

// intervalField says where an interval belongs.
const intervalField = "a field of its own, profiler.interval; in --profiler it stands after the profiler's name, as in jfr,1ms"

// intervalLike is what an interval among the options looks like, and what lacks only its unit.
var intervalLike = regexp.MustCompile(`^[+-]?[\d.]+ *(ns|us|µs|ms|s|m|h)?$`)

// misplacedInterval says of an interval that stands among the options that it does; "" for anything else.
func misplacedInterval(option string) string {
	found := intervalLike.FindStringSubmatch(option)
	switch {
	case found == nil:
		return ""
	case found[1] == "":
		return fmt.Sprintf("%s is no option; an interval has a unit, as in 1ms, and is %s", suggest.Quote(option), intervalField)
	}
	return fmt.Sprintf("%s is an interval, which is %s, and is given once", suggest.Quote(option), intervalField)
}
