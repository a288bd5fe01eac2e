package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/dustin/go-humanize"

	"misstep/app/jfrcheck"
	"misstep/runner/recording"
)

type jfrCommand struct {
	Check jfrCheckCommand `cmd:"" help:"Check recordings: what is wrong in them, what is missing, and how the samplers kept to their intervals."`
	Diff  jfrDiffCommand  `cmd:"" help:"Compare two profiles of one program, recordings or others: which methods and callers gain and lose share beyond chance."`
}

// sizeFlag is a number of bytes, as "4GiB".
type sizeFlag int64

// UnmarshalText parses a size.
func (s *sizeFlag) UnmarshalText(text []byte) error {
	bytes, err := humanize.ParseBytes(string(text))
	if err == nil && (bytes == 0 || bytes > 1<<50) {
		err = errors.New("expected a size from 1 B to 1 PiB, such as 4GiB")
	}
	*s = sizeFlag(bytes)
	return err
}

// recordingFlags are those of commands that read recordings.
type recordingFlags struct {
	MaxSize sizeFlag `within:"[1,)" help:"Size of the largest recording that is read, unpacked." default:"64GiB" placeholder:"SIZE"`
}

type jfrCheckCommand struct {
	recordingFlags
	Files     []string      `arg:"" name:"recording" help:"Recordings (.jfr), also compressed by gzip or zstd; - is stdin." predictor:"file" placeholder:"RECORDING"`
	Classpath string        `help:"Class path of the program, for the check event-edges: folders, jar files, DIR/* for all of a folder." placeholder:"PATH"`
	JDK       string        `name:"jdk" help:"Folder of the JDK that made the recordings (its JAVA_HOME), for the check event-edges." type:"existingdir" placeholder:"DIR"`
	HTML      string        `name:"html" help:"Write a report to this file, which needs no other file and no network." type:"path" placeholder:"FILE"`
	For       time.Duration `within:"(0s,)" help:"End a pipe or stdin after this time, and check what has come." placeholder:"DURATION"`
	FailOn    string        `name:"fail-on" help:"Exit with 1 for faults that touch samples, also for those of other events, or for any." enum:"samples,events,any" default:"samples" placeholder:"WHAT"`
	Salvage   string        `help:"Write the chunks of the recording that are whole to this file." type:"path" placeholder:"FILE"`
	Top       int           `within:"[1,)" help:"Threads and methods that are shown." default:"8"`
	JSON      bool          `name:"json" help:"Print the report as {recordings, checks, faults, doubts, samplers, threads, methods, notes, samples, touched, class, verdict}."`
}

var errCutShort = errors.New("interrupted: the report has what was read before")

// Help is shown below the command's usage.
func (c *jfrCheckCommand) Help() string {
	return "Recordings of JFR, from JDK 8u262 on, and of profilers that write its format. Without class files, only what needs\n" +
		"none is checked, and the summary says what was not. Each fault says what it touches, by the references from events\n" +
		"to it: samples, other events, or bookkeeping. The last line answers for the profile, and the exit code is 1 where\n" +
		"samples are touched (--fail-on). Doubts do not change it. Of a damaged recording the answer says what share was\n" +
		"read, and the exit code is 4: the rest was not judged. A recording that cannot be read does not keep the others from\n" +
		"being checked. Ctrl-C ends the reading: the report has what was read before, and the exit code is 2."
}

// Run checks recordings.
func (c *jfrCheckCommand) Run(ctx context.Context, e *env) error {
	report, failed, err := jfrcheck.Run(ctx, recording.Parse, jfrcheck.Options{
		Files: c.Files, Stdin: os.Stdin, ClassPath: c.Classpath, JDK: c.JDK, MaxBytes: int64(c.MaxSize), For: c.For,
		Top: c.Top, Salvage: c.Salvage,
	})
	if err != nil {
		return err
	}
	if c.HTML != "" && len(report.Recordings) > 0 {
		if err := jfrcheck.WriteHTML(c.HTML, report); err != nil {
			return err
		}
	}
	if c.JSON {
		err = e.json(report)
	} else if len(report.Recordings) > 0 {
		renderReport(e.stdout, report)
	}
	if err != nil {
		return err
	}
	for _, err := range failed {
		e.say("misstep: %v", err)
	}
	c.saySalvaged(e, report)
	switch {
	case ctx.Err() != nil:
		return &exitError{code: exitFailed, err: errCutShort}
	case len(failed) > 0:
		return &exitError{code: exitFailed}
	case report.Fails(failClasses[c.FailOn]):
		return &exitError{code: exitFound}
	case report.Verdict == jfrcheck.VerdictUnjudged, report.Verdict == jfrcheck.VerdictUnproved:
		return &exitError{code: exitVoid}
	}
	return nil
}

// failClasses are what the worst fault touches at least, by the value of --fail-on.
var failClasses = map[string]string{
	"samples": jfrcheck.TouchesSamples, "events": jfrcheck.TouchesEvents, "any": jfrcheck.TouchesBookkeeping,
}

// saySalvaged says what was written of a recording that was read at least in part; the error of any other has it.
func (c *jfrCheckCommand) saySalvaged(e *env, report *jfrcheck.Report) {
	if c.Salvage == "" || len(report.Recordings) == 0 {
		return
	}
	if n := report.Recordings[0].Salvaged; n > 0 {
		e.say("misstep: %s written to %s", plural(n, "whole chunk"), c.Salvage)
		return
	}
	e.say("misstep: no chunk is whole: nothing was written to %s", c.Salvage)
}

type jfrDiffCommand struct {
	recordingFlags
	A      string  `arg:"" help:"Recording, collapsed stacks or profile of pprof, also compressed by gzip or zstd." type:"path" placeholder:"A"`
	B      string  `arg:"" help:"What to compare with, in any of these forms." type:"path" placeholder:"B"`
	EventA string  `name:"event-a" help:"Type of event whose samples of A are compared, or sample type of pprof (default: the one of which both have most, jdk.NativeMethodSample last)." placeholder:"TYPE"`
	EventB string  `name:"event-b" help:"The same of B." placeholder:"TYPE"`
	Level  float64 `within:"(0,1)" help:"Share of the differences that may be due to chance." default:"0.05" placeholder:"SHARE"`
	Top    int     `within:"[1,)" help:"Differences of each kind that are shown; JSON and the page say how many were left out (left_out)." default:"10"`
	HTML   string  `name:"html" help:"Write a page to this file, which needs no other file and no network." type:"path" placeholder:"FILE"`
	JSON   bool    `name:"json" help:"Print {a, b, level, compared, changes, stacks, left_out, notes}."`
}

// Help is shown below the command's usage.
func (c *jfrDiffCommand) Help() string {
	return "Compares the shares of methods (self and total), of calls and of whole stacks. How much a share varies is taken\n" +
		"from blocks of time, and all shares are corrected together, so that recordings of the same program rarely differ.\n" +
		"Collapsed stacks (frames;frames count) and profiles of pprof have no times: their samples are taken for independent."
}

// Run compares two recordings.
func (c *jfrDiffCommand) Run(ctx context.Context, e *env) error {
	d, err := jfrcheck.Diff(ctx, recording.Parse, jfrcheck.DiffOptions{
		A: c.A, B: c.B, EventA: c.EventA, EventB: c.EventB, Stdin: os.Stdin, MaxBytes: int64(c.MaxSize), Level: c.Level, Top: c.Top,
	})
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := d.WriteHTML(c.HTML); err != nil {
			return err
		}
	}
	if c.JSON {
		err = e.json(d)
	} else {
		renderDiff(e.stdout, d)
	}
	switch {
	case err == nil && ctx.Err() != nil:
		err = &exitError{code: exitFailed, err: errCutShort}
	case err == nil && !d.Equal():
		err = &exitError{code: exitFound}
	}
	return err
}
