package jvm

import (
	"regexp"
	"strconv"
	"strings"

	"misstep/signature"
)

// maxFrames bounds the frames of each stack in an outcome; the evidence has all of them.
const maxFrames = 64

var (
	gdbThread = regexp.MustCompile(`^Thread \d+ .*\(?LWP (\d+)\)?`)
	gdbFrame  = regexp.MustCompile(`^#\d+\s+`)
)

// parseGDB reads the output of "thread apply all bt": frames by tid, without addresses and arguments.
func parseGDB(text string) map[int64][]signature.Frame {
	stacks := map[int64][]signature.Frame{}
	var tid int64
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := gdbThread.FindStringSubmatch(line); m != nil {
			tid, _ = strconv.ParseInt(m[1], 10, 64)
			continue
		}
		if !gdbFrame.MatchString(line) || tid == 0 || len(stacks) >= maxThreads || len(stacks[tid]) >= maxFrames {
			continue
		}
		frame, unknown := signature.ParseGDBFrame(line), signature.Frame{Kind: signature.CFrame}
		if n := len(stacks[tid]); frame == unknown && n > 0 && stacks[tid][n-1] == unknown {
			// gdb does not know interpreted and compiled frames: the number of words that it takes for frames means nothing.
			continue
		}
		stacks[tid] = append(stacks[tid], frame)
	}
	return stacks
}
