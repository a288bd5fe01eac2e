package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"misstep/app/jfrcheck"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

// The part answers makes recordings under conditions that are hard for the recorder, on all JDKs, and asks jfr check about them as
// they are and with a fault put into each.

// conditions are what Answers.java does.
var conditions = []string{
	"threads", "rmi+threads+dumps+locks+files", "rmi+threads+dumps+two+locks", "virtual+threads+dumps",
	"classes+threads+dumps+files",
}

// answers counts what jfr check said.
type answers struct {
	// Made are all recordings; of Whole ones another reader found each sample to have a thread and a stack of known methods.
	Made, Whole int
	// Refused of the whole ones have exit code 1; Unlabelled of all have a fault without a known cause.
	Refused, Unlabelled int
	Failures            []string
	ByJDK               map[string]*answersOf
	// Faults by class of fault; Unnamed by place, of the faults without a known cause.
	Faults  map[string]*severities
	Unnamed map[string]int
}

type answersOf struct{ Made, Whole, Refused, Unlabelled int }

// severities counts the faults of a class whose severity was right, and says what was not.
type severities struct {
	Put, Right int
	Wrong      []string
}

// measureAnswers goes through the conditions on each JDK until the time is over.
func measureAnswers(ctx context.Context, bed *trial.Bed, reader recording.Helper, until time.Time) (*answers, error) {
	classes := filepath.Join(bed.Dir, "answers")
	javac := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "javac")
	source := filepath.Join("bench", "jfr", "testdata", "Answers.java")
	said, err := exec.CommandContext(ctx, javac, "--release", "8", "-nowarn", "-d", classes, source).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w: %s", source, err, said)
	}
	a := &answers{ByJDK: map[string]*answersOf{}, Faults: map[string]*severities{}, Unnamed: map[string]int{}}
	for n := uint64(0); ctx.Err() == nil && time.Now().Before(until); n++ {
		round, number := n/uint64(len(bed.JDKs)), n%uint64(len(bed.JDKs))
		on := bed.JDKs[number]
		what := conditions[(round+number)%uint64(len(conditions))] // another one on each JDK in each round
		files, err := record(ctx, bed, classes, on, what, n)
		for i := 0; err == nil && i < len(files); i++ {
			err = a.ask(ctx, reader, on, files[i], n)
		}
		if err != nil && ctx.Err() == nil {
			a.Failures = append(a.Failures, fmt.Sprintf("%s %s: %v", on.Name, what, err))
		}
		bench.Note("%s %s: %d recordings; %d of %d unlabelled, %d refused", on.Name, what, len(files), a.Unlabelled, a.Made,
			a.Refused)
	}
	return a, nil
}

// record makes the recordings of one condition.
func record(ctx context.Context, bed *trial.Bed, classes string, on jdk.Entry, what string, seed uint64) ([]string, error) {
	const longest = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	dir, err := os.MkdirTemp(bed.Dir, "answers-")
	if err != nil {
		return nil, fmt.Errorf("make the recordings' folder: %w", err)
	}
	settings := []string{"default", "profile"}[seed%2]
	seconds := fmt.Sprintf("%.1f", 1.2+float64(seed%5)*0.4) //nolint:mnd // no length in particular
	command := exec.CommandContext(ctx, filepath.Join(on.Path, "bin", "java"), "-Xmx300m",
		"-Dsun.rmi.transport.tcp.threadKeepAliveTime=20", "-Dsun.rmi.transport.connectionTimeout=50",
		"-XX:StartFlightRecording=name=a,settings="+settings+",filename="+filepath.Join(dir, "end.jfr"),
		"-cp", classes, "Answers", what, seconds, fmt.Sprint(seed), filepath.Join(dir, "at"))
	command.Dir = dir
	if said, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said[max(len(said)-200, 0):]))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jfr"))
	slices.Sort(files)
	return files, err
}

// ask checks a recording as it is, and with each fault.
func (a *answers) ask(ctx context.Context, reader recording.Helper, on jdk.Entry, file string, seed uint64) error {
	report, err := checked(ctx, file)
	if err != nil {
		return err
	}
	seen, err := look(ctx, reader, file)
	if err != nil {
		return err
	}
	of := a.ByJDK[on.Name]
	if of == nil {
		of = &answersOf{}
		a.ByJDK[on.Name] = of
	}
	a.Made++
	of.Made++
	if missing := causeless(report); len(missing) > 0 {
		a.Unlabelled++
		of.Unlabelled++
		for _, place := range missing {
			a.Unnamed[on.Name+": "+place]++
		}
	}
	if seen.whole {
		a.Whole++
		of.Whole++
		if report.Fails(jfrcheck.TouchesSamples) {
			a.Refused++
			of.Refused++
		}
	}
	if err := a.faults(ctx, file, report, seen, rand.New(rand.NewPCG(seed, 1))); err != nil {
		return err
	}
	return os.Remove(file)
}

func checked(ctx context.Context, file string) (*jfrcheck.Report, error) {
	o := jfrcheck.Options{Files: []string{file}, MaxBytes: math.MaxInt64, Top: 1}
	report, failed, err := jfrcheck.Run(ctx, recording.Parse, o)
	return report, errors.Join(append(failed, err)...)
}

// causeless are the places of the faults without a known cause.
func causeless(r *jfrcheck.Report) (places []string) {
	for _, f := range r.Faults {
		if f.Known == "" {
			places = append(places, f.Kind+" "+f.Place)
		}
	}
	return places
}

// witness is what another reader found in a recording.
type witness struct {
	whole bool
	// on is by method how many samples have it, and events how many others.
	on, events map[string]int
	// ends are when the samples of the first chunk ended.
	ends []int64
}

func look(ctx context.Context, reader recording.Helper, file string) (s witness, err error) {
	s = witness{whole: true, on: map[string]int{}, events: map[string]int{}}
	chunk := 0
	_, _, err = reader.Read(ctx, file, recording.Limits{}, func(r recording.Record) error {
		if c, is := r.(*recording.Chunk); is {
			chunk = c.Index
		}
		e, is := r.(*recording.Event)
		if !is || e.Stack == nil {
			s.whole = s.whole && (!is || !sampler(e.Type) || e.Thread != nil)
			return nil
		}
		to := s.events
		if sampler(e.Type) {
			to = s.on
			s.whole = s.whole && e.Thread != nil
			if chunk == 0 {
				s.ends = append(s.ends, e.StartNanos+e.DurationNanos)
			}
		}
		names := map[string]bool{}
		for _, f := range e.Stack.Frames {
			if f.Method != nil {
				names[f.Method.Name] = true
			} else if sampler(e.Type) {
				s.whole = false
			}
		}
		for name := range names {
			to[name]++
		}
		return nil
	})
	return s, err
}

func sampler(event string) bool {
	return slices.Contains([]string{"jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample"}, event)
}

// faults puts each fault that the recording has room for into a copy, and compares what the answer says it touches with what the
// other reader saw of it.
func (a *answers) faults(ctx context.Context, file string, before *jfrcheck.Report, s witness, random *rand.Rand) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	for _, f := range answerFaults {
		touches := f.touches(s)
		if touches == "" {
			continue
		}
		chunks, err := altered.Split(slices.Clone(data))
		if err != nil {
			return err
		}
		if !f.put(random, chunks, s) {
			continue
		}
		path := file + ".faulty"
		if err := os.WriteFile(path, bytes.Join(chunks, nil), 0o600); err != nil {
			return fmt.Errorf("write the faulty recording: %w", err)
		}
		after, err := checked(ctx, path)
		if err != nil {
			return err
		}
		a.weigh(f.class, before, after, touches)
	}
	return os.RemoveAll(file + ".faulty")
}

// weigh counts whether the recording with the fault is as bad as the fault makes it.
func (a *answers) weigh(class string, before, after *jfrcheck.Report, touches string) {
	of := a.Faults[class]
	if of == nil {
		of = &severities{}
		a.Faults[class] = of
	}
	want := touches
	if before.Class != "" && slices.Index(jfrcheck.Touches, before.Class) < slices.Index(jfrcheck.Touches, touches) {
		want = before.Class
	}
	of.Put++
	if after.Class == want && after.Fails(jfrcheck.TouchesSamples) == (want == jfrcheck.TouchesSamples) {
		of.Right++
	} else {
		of.Wrong = append(of.Wrong,
			fmt.Sprintf("%s where %s is right: %s", after.Class, want, strings.Join(causeless(after), "; ")))
	}
}
