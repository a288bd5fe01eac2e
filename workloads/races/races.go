// Package races lists the planted races: small programs with one known concurrency bug each. README.md tells what each needs.
package races

import "unicode"

// Set is what a race may be used for. What a scheduler was tuned on says little about how good it is.
type Set string

const (
	// Tune is for races that a strategy may be tuned on.
	Tune Set = "tune"
	// Judge is for races that nothing was tuned on.
	Judge Set = "judge"
)

// Race is one program. Those of which Name begins in uppercase are in Java.
type Race struct {
	Name string
	Set  Set
	// Gap is zero if the window is one of instructions. Otherwise the race is periodic: its threads sleep for most of the time, and
	// the bug shows if one is away for about so many milliseconds longer than it asked for. It takes `fixed` as its third argument.
	Gap float64
}

// Java reports whether the program is in Java.
func (r Race) Java() bool { return unicode.IsUpper(rune(r.Name[0])) }

// Instant are the races whose windows are instructions and that are rare by themselves.
var Instant = []Race{
	{"deadlock2", Tune, 0},
	{"deadlock3", Tune, 0},
	{"lost_update", Tune, 0},
	{"start_order", Tune, 0},
	{"check_then_act", Tune, 0},
	{"lost_wakeup", Tune, 0},
	{"aba", Tune, 0},
	{"double_checked", Tune, 0},
	{"barrier_reuse", Tune, 0},
	{"exit_race", Tune, 0},
	{"signal_race", Tune, 0},
	{"order3", Tune, 0},
	{"LostUpdate", Tune, 0},
	{"LostNotify", Tune, 0},
	{"Shutdown", Tune, 0},
	{"Publication", Tune, 0},
}

// Periodic are the races of threads that sleep, in both sets alike by language and by gap.
var Periodic = []Race{
	{"upgrade_slip", Tune, 0.7},
	{"barrier_gate", Judge, 4},
	{"two_permits", Tune, 4},
	{"signal_at_exit", Judge, 6},
	{"lock_handover", Tune, 8},
	{"missed_signal", Judge, 18},
	{"late_answer", Tune, 32},
	{"swallowed_signal", Judge, 20},
	{"EarlyPublication", Judge, 7.7},
	{"EvictingCache", Tune, 6.3},
	{"ReusedNode", Tune, 10},
	{"ClassCycle", Judge, 16.5},
	{"PoolOfTwo", Tune, 13},
	{"RegistryCall", Judge, 14},
	{"StopBeforeStart", Tune, 16},
	{"CancelledTimer", Judge, 30},
}
