package samplers

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// margin is what is left out at both ends of the time that a stack stood: JFR up to JDK 14 takes the begin of a chunk in whole
// milliseconds (HotSpot jfrChunk.cpp, os::javaTimeMillis), and a clock of its own from there.
const margin = 3 * time.Millisecond

// edge is the time at both ends of which a sample may be of before or after, which a profiler's clock that was read late, on a busy
// machine, shifts: a recording has the time of its begin by two clocks, which are read one after the other (HotSpot jfrChunk.cpp,
// async-profiler's flightRecorder.cpp).
const edge = 10 * time.Millisecond

// span is a time in which a stack stood on a thread, in nanoseconds since the epoch.
type span struct {
	begin, end int64
	stack      stack
}

const (
	linePrefix = "misstep: "
	maxLine    = 1 << 20
	maxHeld    = 1 << 20
)

// Held reads from a program's output which stacks stood when, and how much CPU time threads used, as the workload still prints it
// (workloads/still, Report.java). Other lines are passed over; a line that is broken is an error, unless it is the last one.
func (j *Judge) Held(output io.Reader) error {
	lines := bufio.NewReaderSize(output, maxLine)
	known := map[string]stack{}
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break // without its line feed it may not be whole
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // the rest of it is not such a line either
		}
		if err != nil {
			return fmt.Errorf("read which stacks stood: %w", err)
		}
		rest, ours := bytes.CutPrefix(line, []byte(linePrefix))
		if !ours {
			continue
		}
		if err := j.heldLine(strings.Fields(string(rest)), known); err != nil {
			return fmt.Errorf("read which stacks stood: line %d: %w", number, err)
		}
	}
	for _, spans := range j.held {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	}
	return nil
}

func (j *Judge) heldLine(words []string, known map[string]stack) error {
	if len(words) == 0 {
		return nil
	}
	switch words[0] {
	case "stack":
		if len(words) < 3 {
			return errors.New("a stack without frames")
		}
		stack, err := j.heldStack(words[2:])
		known[words[1]] = stack
		return err
	case "held":
		numbers, err := integers(words[1:], 4)
		if err != nil {
			return err
		}
		stack, ok := known[words[1]]
		if !ok {
			return fmt.Errorf("stack %s is not known", words[1])
		}
		if j.heldCount++; j.heldCount > maxHeld {
			return fmt.Errorf("there are more than %d", maxHeld)
		}
		thread := numbers[1]
		j.held[thread] = append(j.held[thread], span{numbers[2], numbers[3], stack})
	case "cpu":
		numbers, err := integers(words[1:], 2)
		if err != nil {
			return err
		}
		j.cpu[numbers[0]] = time.Duration(numbers[1])
	}
	return nil
}

// heldStack parses frames CLASS.METHOD:LINE.
func (j *Judge) heldStack(words []string) (stack, error) {
	var frames stack
	for _, word := range words {
		colon := strings.LastIndexByte(word, ':')
		dot := strings.LastIndexByte(word[:max(colon, 0)], '.')
		line, err := strconv.ParseInt(word[colon+1:], 10, 32)
		if dot <= 0 || err != nil {
			return nil, fmt.Errorf("the frame %q is not CLASS.METHOD:LINE", word)
		}
		if class, method := word[:dot], word[dot+1:colon]; !leftOut(class, method) {
			frames = append(frames, j.stacks.location(class, method, int32(line)))
		}
	}
	if len(frames) == 0 {
		return nil, errors.New("a stack without frames")
	}
	return frames, nil
}

func integers(words []string, count int) ([]int64, error) {
	if len(words) != count {
		return nil, fmt.Errorf("%d words: expected %d", len(words), count)
	}
	numbers := make([]int64, count)
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a number from 0 on", word)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// standing returns the stack that stood on a thread during the whole of a time, and whether that is near its begin or end.
func (j *Judge) standing(thread, begin, end int64) (standing stack, nearEdge, ok bool) {
	spans := j.held[thread]
	i, _ := slices.BinarySearchFunc(spans, begin, func(s span, at int64) int { return cmp.Compare(s.begin+int64(margin), at+1) })
	if i == 0 {
		return nil, false, false
	}
	s := spans[i-1]
	within := func(d time.Duration) bool { return begin >= s.begin+int64(d) && end <= s.end-int64(d) }
	return s.stack, !within(edge), within(margin)
}
