package main

import (
	"fmt"
	"strconv"
	"strings"

	"misstep/bpf"
)

// Exit codes that scripts rely on; exitCodes says what each means, command by command.
const (
	exitOK         = 0
	exitFound      = 1 // the command found what it looks for (run, bundle diff), or did not (replay, reproduce)
	exitHandedBack = 1 // a runner cut trials short
	exitFailed     = 2 // bad input, or the command could not run
	exitAppFailed  = 3
	exitVoid       = 4

	// Codes of commands that pass on the exit code of a program, as far from common codes as those of env(1) and timeout(1).
	exitEjected       = bpf.CodeEjected
	exitTimeout       = bpf.CodeTimeout
	exitFinding       = 121
	exitUnproved      = 122
	exitOwn           = 125
	exitNotExecutable = 126 // the guest's code
	exitNotStarted    = 127 // the guest's code as well
)

// exitMeaning is what an exit code means. The path of the command is as on the command line; an empty one means all commands
// without codes of their own. passedOn stands for the codes of the program that the command runs, shown as N.
type exitMeaning struct {
	Command string
	Code    int
	Meaning string
}

const passedOn = -1

// exitCodes is the one table of exit codes: help and documentation are made from it.
var exitCodes = []exitMeaning{
	{"run", exitOK, "clean"},
	{"run", exitFound, "mismatch, crash or hang"},
	{"run", exitFailed, "could not run"},
	{"run", exitAppFailed, "the workload failed by itself"},
	{"run", exitVoid, "void: nothing was proved"},
	{"hunt", exitOK, "the campaign has ended, whatever it found"},
	{"hunt", exitFailed, "bad input, could not run, or interrupted; run the same command again to resume"},
	{"hunt", exitVoid, "nothing was proved: no check compared anything, and there is no finding"},
	{"quickstart", exitOK, "the campaign has ended, whatever it found"},
	{"quickstart", exitFailed, "no JDK, could not run, or interrupted; run the same command again to resume"},
	{"quickstart", exitVoid, "nothing was proved: no check compared anything, and there is no finding"},
	{"reproduce start", exitOK, "a bundle that showed the finding"},
	{"reproduce start", exitFound, "not reproduced"},
	{"reproduce start", exitFailed, "could not run"},
	{"replay", exitOK, "reproduced"},
	{"replay", exitFound, "not reproduced"},
	{"replay", exitFailed, "could not run"},
	{"bundle diff", exitOK, "nothing differs"},
	{"bundle diff", exitFound, "something differs"},
	{"bundle diff", exitFailed, "bad input"},
	{"triage", exitOK, "every file was identified"},
	{"triage", exitFailed, "a file is neither an error file nor a thread dump, or cannot be read; the others were answered"},
	{"retest", exitOK, "every bundle ran, whatever the verdicts"},
	{"retest", exitFailed, "a bundle could not run"},
	{"compare", exitOK, "nothing is worse beyond chance; of what is undecided nothing is known"},
	{"compare", exitFound, "something is worse; with --fail-on undecided, or something is undecided"},
	{"compare", exitFailed, "bad input, could not run, or interrupted; what was measured until then is printed"},
	{"compare", exitVoid, "nothing was proved: no pair of trials compared anything"},
	{"findings audit", exitOK, "each mismatch was recorded, and each signature of the records is in a finding"},
	{"findings audit", exitFound, "a signature of the evidence is in no finding"},
	{"findings audit", exitVoid, "nothing is missing in what could be compared: evidence, records or room lacked for the rest"},
	{"jfr check", exitOK, "no fault touches a sample (or what --fail-on names), as far as was checked"},
	{"jfr check", exitFound, "faults touch samples, or what --fail-on names"},
	{"jfr check", exitFailed, "bad input, interrupted, or a recording cannot be read; the others were checked"},
	{"jfr check", exitVoid, "a part of a damaged recording could not be judged, or the recordings have nothing to compare"},
	{"jfr diff", exitOK, "nothing differs beyond chance"},
	{"jfr diff", exitFound, "something differs"},
	{"jfr diff", exitFailed, "bad input"},
	{"corpus push", exitOK, "all bundles are there"},
	{"corpus push", exitFound, "some were refused"},
	{"corpus push", exitFailed, "transfer failed; run the same command again to resume"},
	{"corpus pull", exitOK, "all bundles are there"},
	{"corpus pull", exitFound, "some were refused"},
	{"corpus pull", exitFailed, "transfer failed; run the same command again to resume"},
	{"store restore", exitOK, "everything is restored"},
	{"store restore", exitFound, "restored, but for blobs that are damaged in the backup"},
	{"store restore", exitFailed, "bad input or failure; run the same command again to continue"},
	{"runner", exitOK, "drained or stopped, and no trial was cut short"},
	{"runner", exitHandedBack, "stopped; trials that still ran were handed back to the coordinator"},
	{"runner", exitFailed, "could not run, or stopped while no coordinator answered: leases were left to expire"},
	{"doctor", exitOK, "this machine can hunt"},
	{"doctor", exitFailed, "something needed is missing"},
	{"check", passedOn, "the program's own, or 128+N after signal N; an end by the signal of --for or --kill-after counts as 0"},
	{
		"check", exitFinding,
		"the program returned 0, and there is a finding (--fail-on), or a limit is exceeded (--max-spoiled, --max-lost)",
	},
	{
		"check", exitUnproved,
		"the program returned 0, and a walker was judged by none of its checks (--fail-on), or a limit's walker has no sample",
	},
	{"check", exitOwn, "bad input, or the program cannot be checked"},
	{"check", exitNotExecutable, "the program cannot be executed"},
	{"check", exitNotStarted, "the program does not exist"},
	{"outcome", exitOK, "no finding"},
	{"outcome", exitFound, "there is a finding"},
	{"outcome", exitFailed, "the folder is not the agent's, or cannot be read"},
	{"outcome", exitVoid, "no finding, and a walker was judged by none of its checks"},
	{"sched run", passedOn, "the program's own, or 128+N after signal N"},
	{"sched run", exitEjected, "the kernel ejected the scheduler: nothing was proved"},
	{"sched run", exitTimeout, "timeout"},
	{"sched run", exitOwn, "bad input, or the scheduler could not be loaded"},
	{"sched run", exitNotStarted, "the program could not be started"},
	{"sched replay", passedOn, "the program's own, or 128+N after signal N"},
	{"sched replay", exitEjected, "the kernel ejected the scheduler: nothing was proved"},
	{"sched replay", exitTimeout, "timeout"},
	{"sched replay", exitOwn, "bad input, or the scheduler could not be loaded"},
	{"sched replay", exitNotStarted, "the program could not be started"},
	{"sched places", exitOK, "done"},
	{"sched places", exitOwn, "bad input"},
	{"sched strategies", exitOK, "done"},
	{"sched strategies", exitOwn, "bad input"},
	{"vm run", passedOn, "the program's own, or 128+N after signal N"},
	{"vm run", exitFailed, "bad input"},
	{"vm run", exitTimeout, "timeout"},
	{"vm run", exitOwn, "the virtual machine failed"},
	{"vm run", exitNotExecutable, "the command cannot be executed"},
	{"vm run", exitNotStarted, "the command is not in the guest"},
	{"vm replay", passedOn, "the recorded program's own, or 128+N after signal N"},
	{"vm replay", exitFailed, "bad input"},
	{"vm replay", exitTimeout, "timeout"},
	{"vm replay", exitOwn, "the virtual machine failed, or departed from its recording"},
	{"vm kernel", exitOK, "done"},
	{"vm kernel", exitFailed, "bad input"},
	{"vm kernel", exitOwn, "no kernel could be fetched"},
	{"vm doctor", exitOK, "this machine can run virtual machines"},
	{"vm doctor", exitFound, "something needed is missing"},
	{"", exitOK, "done"},
	{"", exitFailed, "bad input or failure"},
}

// exitCodesOf lists the exit codes of a command by its path, e.g. "vm run".
func exitCodesOf(command string) (own []exitMeaning) {
	for _, of := range []string{command, ""} {
		for _, m := range exitCodes {
			if m.Command == of {
				own = append(own, m)
			}
		}
		if len(own) > 0 {
			break
		}
	}
	return own
}

func (m exitMeaning) code() string {
	if m.Code == passedOn {
		return "N"
	}
	return strconv.Itoa(m.Code)
}

// exitCodeTable is the table in Markdown, for docs/reference.
func exitCodeTable() string {
	var b strings.Builder
	b.WriteString("| command | exit code | meaning |\n|---|---|---|\n")
	for _, m := range exitCodes {
		command := "others"
		if m.Command != "" {
			command = "`" + strings.TrimSuffix(m.Command, " start") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", command, m.code(), m.Meaning)
	}
	return b.String()
}

// exitError carries an exit code out of a command; without an error nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }
