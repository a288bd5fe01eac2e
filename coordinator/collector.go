package coordinator

import (
	"os"
	"runtime/debug"
)

// collectorPercent is how much the heap of a coordinator's process grows between two collections, of what is in use. A coordinator
// makes garbage with each call and keeps little: with the 100 percent that Go has as its default, a sixth of its time is
// collecting.
const collectorPercent = 300

// TuneCollector makes a process that does nothing but serve calls collect garbage seldom, unless GOGC is set.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectorPercent)
	}
}
