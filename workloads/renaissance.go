package workloads

import (
	"regexp"

	misstepv1 "misstep/proto/misstep/v1"
)

// renaissancePrefix is the prefix of the names of Renaissance's benchmarks in the catalogue.
const renaissancePrefix = renaissanceName + "/"

// The output of Renaissance's launcher, as observed with 0.16.1: stdout has a line when an iteration starts and one when it ends,
// "====== NAME (GROUP) [CONFIG], iteration N completed (X ms) ======" or "… failed (ValidationException) ======"; stderr has the
// reason. It exits 1 when a benchmark failed or when an argument is unknown.
var (
	iterationFailed  = regexp.MustCompile(`(?m)^====== \S+ .*iteration \d+ failed \(([^)\n]*)\) ======`)
	iterationDone    = regexp.MustCompile(`(?m)^====== \S+ .*iteration \d+ completed \([^)\n]*\) ======`)
	resultInvalid    = regexp.MustCompile(`(?m)^Benchmark '[^'\n]*' failed result validation:\s*([^\r\n]*)`)
	benchmarkThrew   = regexp.MustCompile(`(?m)^Benchmark '[^'\n]*' failed with exception:\s*([^\r\n]*)`)
	benchmarksFailed = regexp.MustCompile(`(?m)^The following benchmarks failed: [^\r\n]*`)
)

func judgeRenaissance(exit int, stdout, stderr []byte) *misstepv1.ApplicationFailure {
	failed := benchmarksFailed.Find(stdout) // some versions print it on stderr
	if failed == nil {
		failed = benchmarksFailed.Find(stderr)
	}
	if exit == exitVerified && failed == nil {
		if !iterationDone.Match(stdout) {
			return failure(reasonValidation, "exit 0, but no iteration was completed")
		}
		return nil
	}
	if line := resultInvalid.FindSubmatch(stderr); line != nil {
		return failure(reasonValidation, "%s", orElse(line[1], "the benchmark's result is wrong"))
	}
	if line := benchmarkThrew.FindSubmatch(stderr); line != nil {
		return failure(reasonException, "%s", orElse(line[1], exceptionLine(stderr)))
	}
	if line := iterationFailed.FindSubmatch(stdout); line != nil {
		if string(line[1]) == "ValidationException" {
			return failure(reasonValidation, "the benchmark's result is wrong")
		}
		return failure(reasonException, "%s", line[1])
	}
	if failed != nil {
		return failure(reasonException, "%s", failed)
	}
	if exit == exitThrown && !iterationDone.Match(stdout) {
		// An unknown benchmark or option: a usage text and a message, and no iteration was started.
		return failure(reasonStart, "Renaissance did not start%s", lastWords(orTail(stderr, stdout)))
	}
	return failure(reasonExitCode, "exit code %d%s", exit, lastWords(stderr))
}

func orElse(line []byte, other string) string {
	if len(line) > 0 {
		return string(line)
	}
	if other == "" {
		return "no details given"
	}
	return other
}

// orTail returns the first tail that is not empty.
func orTail(first, second []byte) []byte {
	if len(first) > 0 {
		return first
	}
	return second
}
