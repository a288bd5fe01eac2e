// Package bisect finds the JDK builds that have a bug whose failures are random.
//
// A build that did not show the bug in n tries may still have it, so builds are not judged but weighed. Every history of the builds
// gets a probability from the tries so far, the next tries are made where they are most informative, and the search ends when one
// history has the requested confidence. All functions are pure.
//
// Histories. Builds of one feature release are a line (8u, 17u, 25u, …); the first builds of the lines are cut from the trunk one
// after the other. In the trunk the bug was introduced once and fixed at most once, so an interval of lines begins with it. Within
// its line a bug may be fixed by an update, and a line that began without the bug may get it by a backport and lose it again.
package bisect

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Build is one build of a JDK.
type Build struct {
	Name    string
	Feature int
	// Version as printed by -Xinternalversion or as in java.runtime.version.
	Version string
	Vendor  string
}

// Evidence is the result of the tries on a build.
type Evidence struct {
	// Hits and Tries; void tries are not counted.
	Hits, Tries int
	// Skipped is true for a build that cannot be tried: it is never chosen.
	Skipped bool
}

// Prior is the Beta distribution of the rate on a build that has the bug.
type Prior struct{ A, B float64 }

// FromRate returns the prior for a bug that showed hits times in tries elsewhere. It keeps the mean and the weight of at most three
// hits: the same bug may be a few times rarer on another build.
func FromRate(hits, tries int) Prior {
	const maxHits = 3
	a, b := float64(hits)+0.5, float64(tries-hits)+0.5
	scale := min(1, maxHits/a)
	return Prior{a * scale, b * scale}
}

// Answer is what is known about the history.
type Answer struct {
	// Affected is the probability of each build, in the order of the builds given.
	Affected []float64
	// Best reports which builds the likeliest history affects, and Confidence is its probability.
	Best       []bool
	Confidence float64
}

var versionRE = regexp.MustCompile(`\(?(?:build )?(\d+(?:[.\d]*)(?:_\d+)?(?:-b\d+|[-+][^ )]*)?)`)

// numbers returns the numbers of a version, such as 17.0.15+6 → 17 0 15 6 and 1.8.0_402-b06 → 8 0 402 6 (JEP 223 and the scheme
// before it).
func numbers(version string) []int {
	text := version
	if i := strings.Index(text, "("); i >= 0 {
		text = text[i:]
	}
	m := versionRE.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	text = strings.TrimPrefix(m[1], "1.")
	// What follows the build number ("-Debian-1deb12u1", "-LTS") is the vendor's.
	if i := strings.Index(text, "+"); i >= 0 {
		if j := strings.Index(text[i:], "-"); j >= 0 {
			text = text[:i+j]
		}
	}
	var out []int
	for _, digits := range regexp.MustCompile(`\d+`).FindAllString(text, 8) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return out
		}
		out = append(out, n)
	}
	return out
}

// Compare orders builds by feature release, version, vendor and name.
func Compare(a, b Build) int {
	return cmp.Or(cmp.Compare(a.Feature, b.Feature), slices.Compare(numbers(a.Version), numbers(b.Version)),
		strings.Compare(a.Vendor, b.Vendor), strings.Compare(a.Name, b.Name))
}

// falseHit is the chance that a build without the bug shows its signature.
const falseHit = 1e-5

// line is a run of builds with the same feature release.
type line struct{ from, to int }

func linesOf(builds []Build) (out []line) {
	for i := range builds {
		if i == 0 || builds[i].Feature != builds[i-1].Feature {
			out = append(out, line{i, i + 1})
		} else {
			out[len(out)-1].to = i + 1
		}
	}
	return out
}

// pattern is a history of one line, in which its builds [from, to) are affected, with a weight.
type pattern struct {
	from, to int
	weight   float64
}

// patterns returns the histories of a line of n builds that begins with or without the bug. A fix is as likely as no fix; a
// backport of a bug is less likely than none.
func patterns(n int, affected bool) (out []pattern) {
	if affected {
		out = append(out, pattern{0, n, 1})
		for k := 1; k < n; k++ {
			out = append(out, pattern{0, k, 1 / float64(n-1)})
		}
	} else {
		out = append(out, pattern{0, 0, 1})
		pairs := float64((n - 1) * (n - 2) / 2)
		for k := 1; k < n; k++ {
			out = append(out, pattern{k, n, 0.5 / float64(n-1)})
			for m := k + 1; m < n; m++ {
				out = append(out, pattern{k, m, 0.25 / pairs})
			}
		}
	}
	sum := 0.0
	for _, p := range out {
		sum += p.weight
	}
	for i := range out {
		out[i].weight /= sum
	}
	return out
}

// lineSum sums up the evidence about one line that begins in one state.
type lineSum struct {
	total    float64
	affected []float64 // the part of total in which each build is affected
	best     pattern
	bestLike float64
}

func sumLine(n int, begins bool, with, without []float64) lineSum {
	s := lineSum{affected: make([]float64, n)}
	for _, p := range patterns(n, begins) {
		like := p.weight
		for i := range n {
			if i >= p.from && i < p.to {
				like *= with[i]
			} else {
				like *= without[i]
			}
		}
		s.total += like
		for i := p.from; i < p.to; i++ {
			s.affected[i] += like
		}
		if like > s.bestLike {
			s.best, s.bestLike = p, like
		}
	}
	return s
}

// Weigh returns the posterior over histories. Builds are in the order of Compare, evidence in the order of builds. Builds that were
// skipped without a try get the probability 0, and the confidence is that of the others.
func Weigh(builds []Build, evidence []Evidence, prior Prior) Answer {
	var tried []int
	for i, e := range evidence {
		if !e.Skipped || e.Tries > 0 {
			tried = append(tried, i)
		}
	}
	if len(tried) == len(builds) {
		return weigh(builds, evidence, prior)
	}
	triedBuilds, triedEvidence := make([]Build, len(tried)), make([]Evidence, len(tried))
	for k, i := range tried {
		triedBuilds[k], triedEvidence[k] = builds[i], evidence[i]
	}
	answer := weigh(triedBuilds, triedEvidence, prior)
	all := Answer{Affected: make([]float64, len(builds)), Best: make([]bool, len(builds)), Confidence: answer.Confidence}
	for k, i := range tried {
		all.Affected[i], all.Best[i] = answer.Affected[k], answer.Best[k]
	}
	return all
}

func weigh(builds []Build, evidence []Evidence, prior Prior) Answer {
	with, without := make([]float64, len(builds)), make([]float64, len(builds))
	for i, e := range evidence {
		a := logBeta(prior.A+float64(e.Hits), prior.B+float64(e.Tries-e.Hits)) - logBeta(prior.A, prior.B)
		b := float64(e.Hits)*math.Log(falseHit) + float64(e.Tries-e.Hits)*math.Log1p(-falseHit)
		top := max(a, b)
		with[i], without[i] = math.Exp(a-top), math.Exp(b-top)
	}
	lines := linesOf(builds)
	sums := make([][2]lineSum, len(lines))
	for l, ln := range lines {
		for state := range 2 {
			sums[l][state] = sumLine(ln.to-ln.from, state == 1, with[ln.from:ln.to], without[ln.from:ln.to])
		}
	}
	answer := Answer{Affected: make([]float64, len(builds)), Best: make([]bool, len(builds))}
	total, best := 0.0, 0.0
	n := len(lines)
	// Every interval of lines that begin with the bug; the empty interval once.
	for i := 0; i <= n; i++ {
		for j := i; j <= n; j++ {
			if i == j && i > 0 {
				continue
			}
			state := func(l int) int {
				if l >= i && l < j {
					return 1
				}
				return 0
			}
			like, bestLike := 1.0, 1.0
			for l := range lines {
				like *= sums[l][state(l)].total
				bestLike *= sums[l][state(l)].bestLike
			}
			if like == 0 {
				continue
			}
			total += like
			for l, ln := range lines {
				s := sums[l][state(l)]
				for k, part := range s.affected {
					answer.Affected[ln.from+k] += like * part / s.total
				}
			}
			if bestLike > best {
				best = bestLike
				for l, ln := range lines {
					p := sums[l][state(l)].best
					for k := range ln.to - ln.from {
						answer.Best[ln.from+k] = k >= p.from && k < p.to
					}
				}
			}
		}
	}
	if total > 0 {
		for i := range answer.Affected {
			answer.Affected[i] /= total
		}
		answer.Confidence = best / total
	}
	return answer
}

// Choose returns the build whose next tries are most informative about the history, and how many tries to make: as many as an
// affected build of the prior's mean rate needs to show the bug with a probability of 63 %. The build is -1 when no try is
// informative.
func Choose(evidence []Evidence, prior Prior, answer Answer) (build, tries int) {
	mean := prior.A / (prior.A + prior.B)
	tries = max(1, int(math.Ceil(1/mean)))
	build = -1
	most := 1e-6
	for i, e := range evidence {
		if e.Skipped {
			continue
		}
		a, b := prior.A+float64(e.Hits), prior.B+float64(e.Tries-e.Hits)
		shows := 1 - math.Exp(logBeta(a, b+float64(tries))-logBeta(a, b))
		q := answer.Affected[i]
		// The mutual information of the tries and the build's state, which is all their information about the history.
		if gain := entropy(q*shows) - q*entropy(shows); gain > most {
			build, most = i, gain
		}
	}
	return build, tries
}

func entropy(p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	return -p*math.Log2(p) - (1-p)*math.Log2(1-p)
}

func logBeta(a, b float64) float64 {
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return la + lb - lab
}
