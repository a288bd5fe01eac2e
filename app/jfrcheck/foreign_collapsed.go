package jfrcheck

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"misstep/runner/recording"
)

// collapsedEvent is the type of the samples of collapsed stacks.
const collapsedEvent = "samples"

// mostLine is the size of the longest line of collapsed stacks that is read.
const mostLine = 4 << 20

// readCollapsed reads stacks as flame graphs are made of: a line for each, its frames from the outermost one on with semicolons
// between them, a space, and the number of samples.
func (p *profiles) readCollapsed(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<16), mostLine)
	methods := foreignMethods{}
	of := p.timeless(collapsedEvent)
	number := 0
	for lines.Scan() {
		number++
		if number%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		s, n, err := collapsed(string(line), methods)
		if err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrForeign, number, err)
		}
		of.addTimeless(s, n)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%w: line %d has more than %d MiB, as no stack has", ErrForeign, number+1, mostLine>>20)
	case err != nil:
		return fmt.Errorf("read the collapsed stacks: %w", err)
	}
	return nil
}

// collapsed is the stack of a line and the number of its samples.
func collapsed(line string, methods foreignMethods) (s *recording.Stack, n uint64, err error) {
	space := strings.LastIndexByte(line, ' ')
	if space < 0 {
		return nil, 0, errNoCount
	}
	n, err = strconv.ParseUint(line[space+1:], 10, 64)
	if err != nil || n > mostWeight {
		return nil, 0, errNoCount
	}
	s = &recording.Stack{}
	rest := line[:space]
	for rest != "" && !s.Truncated {
		at := strings.LastIndexByte(rest, ';')
		text := rest[at+1:]
		rest = rest[:max(at, 0)]
		switch {
		case text == "" || rest == "" && threadFrame.MatchString(text):
		case len(s.Frames) >= mostDepth:
			s.Truncated = true
		default:
			s.Frames = append(s.Frames, recording.Frame{Method: methods.of(text), BCI: -1, Line: -1})
		}
	}
	return s, n, nil
}

var errNoCount = errors.New("expected frames with semicolons between them, a space and the number of samples, as in main;run 42")
