package check

import (
	"syscall"
	"time"

	"misstep/runner/process"
)

// stop is what Misstep itself did to end a program.
type stop struct {
	asked  time.Time // when it sent SIGTERM, zero for never
	killed bool      // it sent SIGKILL later
}

// ended reports whether that is how a program ended: by the signal, or with the exit code that a JVM or a shell returns after it.
func (s stop) ended(r process.Result) bool {
	by := func(signal syscall.Signal) bool { return r.Signal == signal || r.ExitCode == 128+int(signal) }
	return !s.asked.IsZero() && by(syscall.SIGTERM) || s.killed && by(syscall.SIGKILL)
}

// Phases of a check.
const (
	PhasePrepare = "prepare" // until the program was started
	PhaseProgram = "program" // it ran, at most for Options.For
	PhaseEnding  = "ending"  // from SIGTERM to its end
	PhaseExamine = "examine" // what it left is judged
	PhaseAttach  = "attach"  // until the agent works in a JVM that ran before
	PhaseDetach  = "detach"  // until the agent has ended there
	PhaseBundle  = "bundle"  // bundles are written
)

// Phase is a part of a check with its time in nanoseconds.
type Phase struct {
	Name string        `json:"name"`
	Time time.Duration `json:"time"`
}

// clock measures the phases of a check.
type clock struct {
	last   time.Time
	phases []Phase
}

func startClock() *clock { return &clock{last: time.Now()} }

// until ends a phase at a time.
func (c *clock) until(name string, at time.Time) {
	c.phases = append(c.phases, Phase{name, at.Sub(c.last)})
	c.last = at
}

// end ends a phase now.
func (c *clock) end(name string) { c.until(name, time.Now()) }

// ran ends the phases of a program that has just ended.
func (c *clock) ran(p *program) {
	c.until(PhasePrepare, p.began)
	if p.stop.asked.IsZero() {
		c.end(PhaseProgram)
		return
	}
	c.until(PhaseProgram, p.stop.asked)
	c.end(PhaseEnding)
	p.say("%v after SIGTERM it has ended; what it left is examined", c.phases[len(c.phases)-1].Time.Round(time.Millisecond))
}
