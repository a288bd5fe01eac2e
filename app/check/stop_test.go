package check

import (
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program that ends by Misstep's own signal was stopped. One that a signal of another ends, or that returns something else, was
// not.
func TestStopped(t *testing.T) {
	const (
		wait = "; while :; do sleep 0.1; done"
		soon = 2 * time.Second // a hundred times what a shell needs to set its trap
	)
	for name, c := range map[string]struct {
		script         string
		term, kill     time.Duration
		stopped, asked bool
		said           string
	}{
		"by the signal":      {script: ":" + wait, term: soon, stopped: true, asked: true, said: "2s are over"},
		"as a JVM":           {script: "trap 'exit 143' TERM" + wait, term: soon, stopped: true, asked: true},
		"code of its own":    {script: "trap 'exit 3' TERM" + wait, term: soon, asked: true},
		"deaf":               {script: "trap '' TERM" + wait, term: soon, kill: 100 * time.Millisecond, stopped: true, asked: true, said: "killed"},
		"before its time":    {script: "kill -TERM $$; sleep 60", term: time.Minute},
		"returns 143":        {script: "exit 143"},
		"killed by somebody": {script: "trap 'kill -KILL $$' TERM" + wait, term: soon, asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sh, err := exec.LookPath("sh")
			require.NoError(t, err)
			var said strings.Builder
			p := program{path: sh, args: []string{"sh", "-c", c.script}, Options: Options{
				For: c.term, KillAfter: c.kill, Stdout: io.Discard, Say: func(line string) { said.WriteString(line) },
			}}
			ended, err := p.run(t.Context())
			require.NoError(t, err)
			assert.Equal(t, c.stopped, p.stop.ended(ended), "%+v", ended)
			assert.Equal(t, c.asked, !p.stop.asked.IsZero())
			assert.Contains(t, said.String(), c.said)
		})
	}
}

// The phases of a check are all of its time, one after the other.
func TestPhases(t *testing.T) {
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	c := clock{last: began}
	c.until(PhasePrepare, at(1))
	c.until(PhaseProgram, at(21))
	c.until(PhaseEnding, at(24))
	assert.Equal(t, []Phase{
		{PhasePrepare, time.Second}, {PhaseProgram, 20 * time.Second}, {PhaseEnding, 3 * time.Second},
	}, c.phases)

	ran := clock{last: time.Now().Add(-time.Minute)}
	ran.ran(&program{began: time.Now().Add(-40 * time.Second)})
	require.Len(t, ran.phases, 2, "a program that ends by itself has no phase of ending")
	ran = clock{last: time.Now().Add(-time.Minute)}
	ran.ran(&program{began: time.Now().Add(-40 * time.Second), stop: stop{asked: time.Now().Add(-20 * time.Second)}})
	require.Len(t, ran.phases, 3)
	assert.Equal(t, PhaseEnding, ran.phases[2].Name)
}
