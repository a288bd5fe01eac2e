package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	jcstress      = "jcstress"
	guestJcstress = "/jcstress"
	samplesPrefix = "org.openjdk.jcstress.samples."
	// sampleTime is how long a fork runs its sample, in milliseconds of the guest's clock.
	sampleTime = 500
)

type jcstressSample struct {
	name     string
	outcomes []string
	control  bool // the accesses are one, and jcstress forbids these outcomes
}

// jcstressSamples are samples of https://openjdk.org/projects/code-tools/jcstress, each with the outcomes of a thread that loses
// its CPU between two accesses.
var jcstressSamples = []jcstressSample{
	{"APISample_01_Simple", []string{"1, 1"}, false},
	{"ConcurrencySample_01_OperationAtomicity.PlainIncrement", []string{"1"}, false},
	{"ConcurrencySample_01_OperationAtomicity.VolatileIncrement", []string{"1"}, false},
	{"JMMSample_02_WordTearing.BitSets", []string{"false, true", "true, false"}, false},
	{"JMMSample_05_TotalOrder.PlainDekker", []string{"1, 1"}, false},
	{"ConcurrencySample_01_OperationAtomicity.AtomicIncrement", []string{"1"}, true},
}

// isJcstress reports whether a cell is a fork of jcstress: a JVM that runs one of its samples.
func (c cell) isJcstress() bool { return slices.Contains(jcstressNames(), c.Race) }

func jcstressNames() (names []string) {
	for _, s := range jcstressSamples {
		names = append(names, s.name)
	}
	return names
}

// jcstressCells lists these cells, seed by seed.
func jcstressCells() (all []cell) {
	for seed := range uint64(seeds) {
		for _, strategy := range periodicStrategies {
			for _, name := range jcstressNames() {
				all = append(all, cell{Race: name, Strategy: strategy, Seed: firstSeed + seed, Iterations: 1})
			}
		}
	}
	return all
}

// findJcstress looks for the samples and for the program that runs them, which maven puts there.
func (l *lab) findJcstress() error {
	dir, err := filepath.Abs(filepath.Join(dir, jcstress))
	if err != nil {
		return fmt.Errorf("finding jcstress: %w", err)
	}
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil || len(jars) == 0 {
		return err
	}
	var all strings.Builder
	for _, jar := range jars {
		sum, err := digest(jar)
		if err != nil {
			return err
		}
		all.WriteString(sum)
	}
	for _, name := range jcstressNames() {
		l.digests[name] = all.String()
	}
	l.jcstress = dir
	return nil
}

// jcstressForks has maven fetch the samples, and runs them under each scheduler.
func (l *lab) jcstressForks(ctx context.Context, s *store) error {
	if err := tool(ctx, nil, "mvn", "-q", "-B", "-ntp", "-f", "bench/sched/jcstress/pom.xml", "package"); err != nil {
		return fmt.Errorf("fetching jcstress (requires maven, and Maven Central or a mirror in ~/.m2/settings.xml): %w", err)
	}
	if err := l.findJcstress(); err != nil {
		return err
	}
	return l.cells(ctx, s, jcstressCells())
}

// jcstressCommand returns the command of a cell in the guest.
func jcstressCommand(c cell) []string {
	return []string{
		os.Getenv(javaVariable), "-Xms64m", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", filepath.Join(guestJcstress, "*"), "Fork", samplesPrefix + c.Race, strconv.Itoa(sampleTime),
	}
}

// outcomes are what a fork counted.
type outcomes struct {
	Seen map[string]uint64 `json:"seen"`
	// Forbidden is the number of those that the sample forbids.
	Forbidden uint64 `json:"forbidden,omitempty"`
}

// of returns the number of the wanted outcomes, and of all.
func (o outcomes) of(wanted []string) (seen, all uint64) {
	for _, n := range o.Seen {
		all += n
	}
	for _, outcome := range wanted {
		seen += o.Seen[outcome]
	}
	return seen, all
}

var outcomeLine = regexp.MustCompile(`(?m)^(ACCEPTABLE|ACCEPTABLE_INTERESTING|FORBIDDEN|UNKNOWN) ([0-9]+) (.+)$`)

// judgeJcstress parses the output of a fork.
func (r *result) judgeJcstress(output string, took time.Duration) {
	r.Took, r.Ran = took.Seconds(), r.Iterations
	o := outcomes{Seen: map[string]uint64{}}
	for _, m := range outcomeLine.FindAllStringSubmatch(output, -1) {
		n, _ := strconv.ParseUint(m[2], 10, 64)
		o.Seen[m[3]] = n
		if !strings.HasPrefix(m[1], "ACCEPTABLE") {
			o.Forbidden += n
		}
	}
	if len(o.Seen) == 0 || !strings.Contains(output, "\nend\n") {
		r.Trouble = fmt.Sprintf("the fork's output has no outcomes, or no end: %.300q", output)
		return
	}
	i := slices.Index(jcstressNames(), r.Race) // it is there: see isJcstress
	seen, _ := o.of(jcstressSamples[i].outcomes)
	r.Found, r.Outcomes = seen > 0, &o
}
