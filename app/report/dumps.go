package report

import (
	"fmt"
	"slices"

	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
)

// joinDumps makes one hang of a dump of Thread.print, which says who waits for which lock, and one of Thread.dump_to_file of the
// same JVM, which alone lists the virtual threads that wait, where both are given. The answers of both files are those of what
// they say together.
func joinDumps(answers []Answer) ([]Answer, error) {
	joined := map[*threaddump.Dump][]Answer{}
	for _, a := range answers {
		if a.form != printed || a.dump == nil || joined[a.dump] != nil {
			continue
		}
		for _, b := range answers {
			if b.form != dumped || b.dump == nil || joined[b.dump] != nil || !a.ofOneJVM(b) {
				continue
			}
			a.dump.Merge(b.dump)
			for _, pair := range [][2]Answer{{a, b}, {b, a}} {
				of, err := identified(hangOutcome(a.dump.Hang()), pair[0])
				if err != nil {
					return nil, err
				}
				for i := range of {
					of[i].Explanation.With = pair[1].seenFrom(pair[0])
				}
				joined[pair[0].dump] = of
			}
			break
		}
	}
	var out []Answer
	done := map[*threaddump.Dump]bool{}
	for _, a := range answers {
		of, ok := joined[a.dump]
		switch {
		case !ok || a.dump == nil:
			out = append(out, a)
		case !done[a.dump]:
			done[a.dump] = true
			for _, b := range of {
				if !slices.ContainsFunc(out, func(c Answer) bool { return c.File == b.File && c.ID == b.ID }) {
					out = append(out, b)
				}
			}
		}
	}
	return out, nil
}

// ofOneJVM reports whether two dumps are of the same JVM, as far as they show it.
func (a *Answer) ofOneJVM(b Answer) bool {
	return (a.pid == "" || b.pid == "" || a.pid == b.pid) && a.dump.Same(b.dump)
}

// joins reports whether two answers are from dumps of both forms, which may be one hang.
func (a *Answer) joins(b Answer) bool { return a.dump != nil && b.dump != nil && a.form != b.form }

// seenFrom names the place of an answer's report to another one.
func (a *Answer) seenFrom(b Answer) string {
	if a.File != b.File {
		return a.File
	}
	return fmt.Sprintf("%s:%d", a.File, a.Explanation.Line)
}

func hangOutcome(h *misstepv1.Hang) *misstepv1.Outcome {
	return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_HANG, Hang: h}
}
