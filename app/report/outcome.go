package report

import (
	"bytes"
	"errors"

	"misstep/internal/hserr"
	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
)

// outcomeOf reads a report as the outcome of a trial that left it, and which JVM wrote it. dump is nil for a crash.
func outcomeOf(s section) (o *misstepv1.Outcome, dump *threaddump.Dump, from jvm, err error) {
	if s.form == errorFile {
		report, err := hserr.Parse(bytes.NewReader(s.text))
		if err != nil {
			return nil, nil, jvm{}, err
		}
		return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Crash: report.Crash}, nil, jreOf(report.JRE), nil
	}
	if dump, err = threaddump.Parse(s.text); err != nil {
		return nil, nil, jvm{}, err
	}
	if len(dump.Threads) == 0 {
		return nil, nil, jvm{}, errors.New("no threads in the thread dump")
	}
	return hangOutcome(dump.Hang()), dump, dumperOf(s), nil
}
