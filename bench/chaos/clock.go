package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"misstep/runner"
)

// clocks is a folder with a file for each part of a fleet whose clock is shifted: a time namespace does not shift CLOCK_REALTIME,
// so this program's own services read how far they are off. It is empty where clocks cannot be shifted.
type clocks string

// all is the file that shifts all coordinators.
func (c clocks) all() string { return c.file("coordinators", 0) }

// file is that of the i-th coordinator or runner alone.
func (c clocks) file(what string, i int) string {
	return filepath.Join(string(c), fmt.Sprint(what, "-", i))
}

const (
	// maxJump is how far the clock of all coordinators jumps at most, to either side: ten lease times. That of one runner is off by
	// as much.
	maxJump = 10 * leaseTime
	// maxSkew is how far the clock of one coordinator is off at most, so that two differ by no more than is permitted: a quarter of
	// the lease time.
	maxSkew = leaseTime / 8
)

// jump shifts a clock.
func (c clocks) jump(x fault, file string) {
	part := 2*x.Amount - 1
	switch x.Kind {
	case clockCoordinator:
		_ = writeShift(file, time.Duration(part*float64(maxSkew))) // the disk of the run's folder is never made full
	case clockRunner:
		_ = writeShift(file, time.Duration(part*float64(maxJump)))
	default:
		_ = writeShift(file, readShift(file)+time.Duration(part*float64(maxJump)))
	}
}

// readShift returns the sum of what files shift a clock by.
func readShift(files ...string) (sum time.Duration) {
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && len(data) == 8 {
			sum += time.Duration(binary.LittleEndian.Uint64(data))
		}
	}
	return sum
}

// writeShift shifts the clock of those that read a file.
func writeShift(file string, shift time.Duration) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("shift a clock: %w", err)
	}
	data := binary.LittleEndian.AppendUint64(nil, uint64(shift))
	if err := os.WriteFile(file+".new", data, 0o644); err != nil {
		return fmt.Errorf("shift a clock: %w", err)
	}
	return os.Rename(file+".new", file)
}

// shiftedClock is the system's clock, off by what a file says.
type shiftedClock struct {
	runner.SystemClock
	file string
}

func (c shiftedClock) Now() time.Time { return time.Now().Add(readShift(c.file)) }
