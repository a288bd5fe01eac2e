package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"misstep/app/report"
	"misstep/known"
)

var idRE = regexp.MustCompile(`^F[0-9a-f]{12}$`)

// Whatever is in a file, it is answered with bounded, printable text, the same each time, or refused.
func FuzzReport(f *testing.F) {
	for _, text := range []string{
		crashed, hung, waiting, hung + crashed, "> " + strings.ReplaceAll(waiting, "\n", "\n> "),
		strings.ReplaceAll(crashed, "\n", "\r\n"), "\xff\xfe#\x00", "\x1f\x8b",
		`{"threadDump": {"runtimeVersion": "25.0.3+9-LTS", "threadContainers": [{"container": "<root>", "threads": ` +
			`[{"tid": "1", "name": "main", "stack": ["java.base/java.lang.Thread.sleep0(Native Method)", "demo.A.f(A.java:3)"]}]}]}}`,
		"4242\n2026-11-25T18:01:37Z\n25.0.3+9-LTS\n\n#1 \"main\"\n      demo.A.f(A.java:3)\n\n#22 \"\" virtual\n" +
			"      demo.B.g(B.java:3)\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		run := func() ([]report.Answer, []error) {
			return report.Triage{Stdin: bytes.NewReader(content), Known: known.Default()}.Files([]string{report.Stdin})
		}
		answers, failed := run()
		if len(answers) == 0 && len(failed) != 1 {
			t.Fatalf("neither an answer nor an error: %v", failed)
		}
		again, _ := run()
		for i, a := range answers {
			if !idRE.MatchString(a.ID) || a.Kind != a.Signature[0] {
				t.Fatalf("answer %+v", a)
			}
			if again[i].ID != a.ID {
				t.Fatalf("two ids of one input: %s and %s", a.ID, again[i].ID)
			}
			for _, part := range append(a.Signature, a.Explanation.Title) {
				if len(part) > 310 || !utf8.ValidString(part) || strings.ContainsAny(part, "\n\r\x00") {
					t.Fatalf("part %q", part)
				}
			}
		}
	})
}
