package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"misstep/internal/faults"
	misstepv1 "misstep/proto/misstep/v1"
)

// realCase is a bug on real JVMs, seeded or known, that a small campaign finds. Its recipes have elements that the bug does not
// need.
type realCase struct {
	// Name and sort, as shown in the table: "known bug", "injected fault", "planted race".
	name, sort string
	// jdk is a name in the catalogue; with a plan the JDK is wrapped by the injector.
	jdk  string
	plan *faults.Plan
	// campaign in YAML without name and JDK.
	campaign string
	// finding lists strings that the finding's signature must contain.
	finding []string
	// builds to bisect over, and those of them that are known to be affected.
	builds, affected []string
}

// build returns the name of the JDK that the case's campaign uses.
func (c realCase) build() string {
	if c.plan == nil {
		return c.jdk
	}
	return c.jdk + "-" + c.name
}

func (c realCase) yaml() string {
	return fmt.Sprintf("name: %s\nseed: 7\njdks: [%s]\n%s", c.name, c.build(), strings.TrimLeft(c.campaign, "\n"))
}

// is reports whether a finding is the case's.
func (c realCase) is(f *misstepv1.Finding) bool {
	signature := f.GetSignature().GetKind() + " " + strings.Join(f.GetSignature().GetParts(), " ")
	return !slices.ContainsFunc(c.finding, func(text string) bool { return !strings.Contains(signature, text) })
}

// realCases in the order in which they are measured: cheap ones first.
func realCases() (out []realCase) {
	upcall := func(program, jdk, place string) realCase {
		return realCase{
			name: program + "-" + jdk, sort: "known bug", jdk: jdk, finding: []string{"mismatch gst-asgct", place},
			builds: []string{"jdk17", "jdk25"}, affected: []string{"jdk17", "jdk25"},
			campaign: fmt.Sprintf(`
workloads: [{name: small, arguments: [%s]}]
flag_sets: [{name: some, flags: [-XX:+UseSerialGC, -XX:TieredStopAtLevel=1, -Xss768k, -XX:MaxInlineLevel=8]}]
instrumentation: [{ratio: 1, include: ["Small*"]}]
checks: [{name: gst-asgct, share: 1}, {name: shadow-gst, share: 0.1}, {name: liveness}]
budget: {trials: 2}
`, program),
		}
	}
	out = append(out, upcall("clinit", "jdk17", "upcall <clinit>"), upcall("clinit", "jdk25", "upcall <clinit>"))
	out = append(out, realCase{
		name: "yield-jdk25", sort: "known bug", jdk: "jdk25", finding: []string{"mismatch gst-asgct", "continuation"},
		builds:   []string{"jdk11", "jdk17", "jdk21", "jdk25", "jdk26", "jdk27", "jdk28"},
		affected: []string{"jdk21", "jdk25", "jdk26", "jdk27", "jdk28"},
		campaign: `
workloads: [{name: small, arguments: [yield]}]
flag_sets: [{name: some, flags: [-XX:+UseSerialGC, -XX:TieredStopAtLevel=1, -Xss768k, -XX:MaxInlineLevel=8]}]
instrumentation: [{ratio: 1, include: ["Small*"]}]
checks: [{name: gst-asgct, share: 1}, {name: shadow-gst, share: 0.1}, {name: liveness}]
budget: {trials: 2}
`,
	})
	out = append(out, upcall("loader", "jdk17", "upcall loadClass"), upcall("loader", "jdk25", "upcall loadClass"))

	race := func(name string, number, iterations int, class string) {
		out = append(out, realCase{
			name: "race-" + name, sort: "planted race", jdk: "jdk17", finding: []string{"crash", "Unsafe"},
			campaign: fmt.Sprintf(`
workloads: [{name: small, arguments: [race, "%d", "%d"]}]
flag_sets: [{name: some, flags: [-XX:+UseSerialGC, -XX:TieredStopAtLevel=1, -Xss768k, -XX:MaxInlineLevel=8]}]
instrumentation: [{ratio: 1, include: ["Race*", "%s*"]}]
checks: [{name: liveness}, {name: shadow-gst, share: 0.01}]
perturb: [{strategy: chaos, mechanism: agent}]
budget: {trials: 20}
`, number, iterations, class),
		})
	}
	race("check-then-act", 1, 30, "CheckThenAct")
	race("publication", 3, 600, "Publication")

	// Frequent faults are the cheapest, rare ones the most expensive. One crash in twenty becomes a hang instead: it happened
	// inside malloc, which writing the error file needs. Other runs have to wait for those, so there is only one such case.
	crash := injectedFault(0.5, faults.Plan{Classes: []string{faults.Crash}, Trials: 0.5, Rate: 1, Needs: []string{"-Xss768k"}},
		bracket, "crash", "injector")
	return slices.Concat(injected(0.5), out, injected(0.1), []realCase{crash}, injected(0.02))
}

// Campaigns of injected faults.
const (
	bracket = `
workloads: [{name: small}]
flag_sets: [{name: some, flags: [-XX:+UseSerialGC, -XX:TieredStopAtLevel=1, -Xss768k, -XX:MaxInlineLevel=8, -XX:+AlwaysPreTouch]}]
instrumentation: [{ratio: 0}]
sampling: [{interval: 0.001s, jitter: 0.5}]
checks: [{name: asgct-gst-bracket}, {name: liveness}]
`
	entries = `
workloads: [{name: small}]
flag_sets: [{name: some, flags: [-XX:+UseSerialGC, -XX:TieredStopAtLevel=1, -Xss768k, -XX:MaxInlineLevel=8, -XX:+AlwaysPreTouch]}]
instrumentation: [{ratio: 1, include: ["Small*"]}]
checks: [{name: gst-asgct, share: 1}, {name: shadow-gst, share: 0.1}, {name: liveness}]
`
)

// each returns the probability per walk with which a trial of n walks has probability p.
func each(p, n float64) float64 { return 1 - math.Pow(1-p, 1/n) }

// injected returns cases of injected faults, one per trial with a probability of about p. The frequent ones are drawn once per
// trial, so that only their needs matter. The others are drawn per walk, so that more walks make them more frequent, as with a
// race: amplifying has something to find.
func injected(p float64) []realCase {
	plan := func(class, method, needs string, walks float64) faults.Plan {
		plan := faults.Plan{Classes: []string{class}, Trials: 1, Rate: each(p, walks), Method: method, Needs: []string{needs}}
		if p >= 0.5 {
			plan.Trials, plan.Rate = p, 1
		}
		return plan
	}
	return []realCase{
		injectedFault(p, plan(faults.InvalidCode, "", "-XX:MaxInlineLevel=8", 35), bracket, "mismatch", "bracket"),
		injectedFault(p, plan(faults.Truncate, "Small.inner", "-Xss768k", 40), entries, "mismatch gst-asgct", "truncated"),
		injectedFault(p, plan(faults.Duplicate, "Small.inner", "-XX:+AlwaysPreTouch", 40), entries, "mismatch gst-asgct", "extra"),
	}
}

func injectedFault(p float64, plan faults.Plan, campaign string, finding ...string) realCase {
	return realCase{
		name: fmt.Sprintf("%s-%g", plan.Classes[0], p), sort: "injected fault", jdk: "jdk17", finding: finding, plan: &plan,
		campaign: campaign + fmt.Sprintf("budget: {trials: %d}\n", int(8/p)),
	}
}
