package report

import (
	"bytes"
	"errors"

	"misstep/internal/hserr"
	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
)

// outcomeOf reads a report as the outcome of a trial that left it, and which JVM wrote it.
func outcomeOf(s section) (*misstepv1.Outcome, jvm, error) {
	if s.form == errorFile {
		report, err := hserr.Parse(bytes.NewReader(s.text))
		if err != nil {
			return nil, jvm{}, err
		}
		return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Crash: report.Crash}, jreOf(report.JRE), nil
	}
	hang, err := hangOf(s)
	if err != nil {
		return nil, jvm{}, err
	}
	return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_HANG, Hang: hang}, dumperOf(s), nil
}

// hangOf reads a thread dump.
func hangOf(s section) (*misstepv1.Hang, error) {
	dump, err := threaddump.Parse(s.text)
	if err != nil {
		return nil, err
	}
	if len(dump.Threads) == 0 {
		return nil, errors.New("no threads in the thread dump")
	}
	return dump.Hang(), nil
}
