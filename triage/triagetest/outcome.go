package triagetest

import (
	"fmt"
	"strings"

	"misstep/internal/hserr"
	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
)

// Outcome reads the report as the outcome of a trial that left it.
func (r Report) Outcome() (*misstepv1.Outcome, error) {
	if r.Kind == KindCrash {
		report, err := hserr.Parse(strings.NewReader(r.Text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Crash: report.Crash}, nil
	}
	dump, err := threaddump.Parse([]byte(r.Text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_HANG, Hang: dump.Hang()}, nil
}
