package main

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"time"

	"misstep/app/check"
	"misstep/app/cireport"
	"misstep/known"
)

// limitFlag is a share of the samples of a walker, or of each.
type limitFlag check.Limit

// UnmarshalText parses [WALKER=]SHARE.
func (l *limitFlag) UnmarshalText(text []byte) error {
	walker, number, named := strings.Cut(string(text), "=")
	if !named {
		walker, number = "", walker
	}
	var share shareFlag
	if err := share.UnmarshalText([]byte(number)); err != nil {
		return err
	}
	limit, err := check.NewLimit(walker, float64(share))
	*l = limitFlag(limit)
	return err
}

func limitsOf(flags []limitFlag) (list []check.Limit) {
	for _, f := range flags {
		list = append(list, check.Limit(f))
	}
	return list
}

// gateFlags make a command fail by what it finds.
type gateFlags struct {
	FailOn     string      `help:"Exit with code 121 when there is a finding, or new: one that is no known bug; and with 122 when nothing was proved. Only where the program itself returned 0 (default: none; new with --known)." enum:",none,new,finding" default:"" placeholder:"none|new|finding"`
	Known      string      `help:"Known bugs of your own, in the form of known/known.yaml: findings that are accepted." type:"existingfile" placeholder:"FILE"`
	AcceptTo   string      `help:"Add each finding that is no known bug to this file, for --known of the next run." type:"path" placeholder:"FILE"`
	MaxSpoiled []limitFlag `help:"Exit with code 121 when more than this share of a walker's samples is wrong or cut off, such as asgct=0.5%; known bugs count. The lower end of the share's 95 % interval decides, so that chance does not." placeholder:"[WALKER=]SHARE"`
	MaxLost    []limitFlag `help:"Likewise for the share of samples without a stack." placeholder:"[WALKER=]SHARE"`
	JUnit      string      `name:"junit" help:"Write what was found as JUnit's XML, for a build server." type:"path" placeholder:"FILE"`
	SARIF      string      `name:"sarif" help:"Write the findings as SARIF 2.1.0, for code scanning." type:"path" placeholder:"FILE"`
}

func (f gateFlags) gate() check.Gate {
	on := f.FailOn
	switch {
	case on == "" && f.Known != "":
		on = check.FailOnNew
	case on == "":
		on = check.FailOnNone
	}
	return check.Gate{FailOn: on, Spoiled: limitsOf(f.MaxSpoiled), Lost: limitsOf(f.MaxLost)}
}

func (f gateFlags) files() cireport.Files { return cireport.Files{JUnit: f.JUnit, SARIF: f.SARIF} }

// own reads the known bugs.
func (f gateFlags) own() (known.Catalogue, error) {
	if f.Known == "" {
		return known.Catalogue{}, nil
	}
	bugs, err := readKnown(f.Known)
	if err != nil {
		return known.Catalogue{}, err
	}
	return known.Own(bugs)
}

// finish writes what was asked for of a report that a gate has judged, and returns the exit code. It says what the gate comes to.
func (f gateFlags) finish(say func(format string, args ...any), r *check.Report, v check.Verdict) (int, error) {
	gate, code := f.gate(), exitOK
	switch {
	case len(v.Failed) > 0:
		code = exitFinding
		say("misstep: the gate fails: %s", strings.Join(v.Failed, "; "))
	case len(v.Unproved) > 0:
		code = exitUnproved
		say("misstep: the gate proves nothing: %s", strings.Join(v.Unproved, "; "))
	case gate.On():
		say("misstep: the gate holds")
	}
	report := cireport.Report{
		Command: "misstep check", Version: cmp.Or(version, "devel"), Time: r.Wall, Cases: gate.Cases(r),
	}
	if text := report.Annotations(); text != "" && gate.On() && os.Getenv("GITHUB_ACTIONS") == "true" {
		say("%s", strings.TrimSuffix(text, "\n"))
	}
	return code, errors.Join(f.accept(say, r), f.files().Write(report))
}

// accept adds the new findings to the file of accepted ones.
func (f gateFlags) accept(say func(format string, args ...any), r *check.Report) error {
	if f.AcceptTo == "" {
		return nil
	}
	ids, err := r.Accept(f.AcceptTo, time.Now())
	if err == nil && len(ids) > 0 {
		say("misstep: %s now accepts %s: look at their stacks before you keep that", f.AcceptTo, strings.Join(ids, ", "))
	}
	return err
}
