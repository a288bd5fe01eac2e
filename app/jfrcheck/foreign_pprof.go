package jfrcheck

import (
	"errors"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	pprof "github.com/google/pprof/profile"

	"misstep/runner/recording"
)

// Bounds of a profile of pprof: a byte of it may become dozens in memory, and a few of them a deep stack.
const (
	mostPprof       = 64 << 20
	mostPprofFrames = 1 << 26
)

// readPprof reads a profile in pprof's form, unpacked.
func (p *profiles) readPprof(in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, mostPprof+1))
	if err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	if len(data) > mostPprof {
		return fmt.Errorf("the profile of pprof has more than %s, unpacked: take one of a shorter time", humanize.IBytes(mostPprof))
	}
	of, err := pprof.ParseUncompressed(data)
	if err == nil {
		err = of.CheckValid()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	counted := countedTypes(of)
	if len(counted) == 0 {
		return errors.New("the profile of pprof has no sample type that counts: expected one with the unit count, or a period")
	}
	methods, frames := foreignMethods{}, 0
	for _, sample := range of.Sample {
		s := pprofStack(sample, methods)
		if frames += len(s.Frames); frames > mostPprofFrames {
			return fmt.Errorf("the stacks of the profile have more than %d frames: take one of a shorter time", mostPprofFrames)
		}
		for _, c := range counted {
			if n := sample.Value[c.index] / c.per; n > 0 && n <= mostWeight {
				p.timeless(c.name).addTimeless(s, uint64(n))
			}
		}
	}
	return nil
}

// countedType is a sample type by which samples are counted: a value stands for so many of its unit.
type countedType struct {
	name  string
	index int
	per   int64
}

// countedTypes are the types that count samples, or else those of which one sample is worth a period.
func countedTypes(of *pprof.Profile) (list []countedType) {
	for i, t := range of.SampleType {
		if t.Unit == "count" {
			list = append(list, countedType{t.Type, i, 1})
		}
	}
	if len(list) > 0 || of.PeriodType == nil || of.Period <= 0 {
		return list
	}
	for i, t := range of.SampleType {
		if t.Unit == of.PeriodType.Unit && t.Type == of.PeriodType.Type {
			list = append(list, countedType{t.Type, i, of.Period})
		}
	}
	return list
}

// pprofStack is the stack of a sample, with the inlined functions of its locations, innermost first as in pprof.
func pprofStack(sample *pprof.Sample, methods foreignMethods) *recording.Stack {
	s := &recording.Stack{}
	for _, location := range sample.Location {
		names := make([]string, 0, 1)
		for _, line := range location.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
		if len(names) == 0 {
			names = append(names, fmt.Sprintf("0x%x", location.Address))
		}
		for _, name := range names {
			if len(s.Frames) >= mostDepth {
				s.Truncated = true
				return s
			}
			s.Frames = append(s.Frames, recording.Frame{Method: methods.of(name), BCI: -1, Line: -1})
		}
	}
	return s
}
