package agent

import (
	"encoding/binary"
	"fmt"
	"io"

	"misstep/internal/regular"
)

// FilePlan and FileSchedule are the names, in the agent's folder, of a perturbation's plan and of its log.
const (
	FilePlan     = "perturb.bin"
	FileSchedule = "schedule.bin"
)

// Schedule is what a perturbation at instrumentation points did, in the terms of schedule/intf.h.
type Schedule struct {
	// Stats is indexed by enum misstep_stat, Histograms by enum misstep_histogram.
	Stats      []uint64
	Histograms [][]uint64
	// Records has 80 bytes for each record; records that found no room are missing.
	Records []byte
}

// ReadSchedule reads schedule.bin, while the JVM runs or after its death. For a file of another format the error wraps ErrStatus.
func ReadSchedule(path string) (Schedule, error) {
	f, err := regular.Open(path)
	if err != nil {
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	}
	defer f.Close()
	header := make([]byte, scheduleRecordsOffset)
	if _, err := io.ReadFull(f, header); err != nil {
		return Schedule{}, fmt.Errorf("read schedule %s: %w: it is shorter than a header", path, ErrStatus)
	}
	u64 := func(offset int) uint64 { return binary.LittleEndian.Uint64(header[offset:]) }
	if u64(scheduleMagicOffset) != scheduleMagic || u64(scheduleCapacityOff) != scheduleCapacity {
		return Schedule{}, fmt.Errorf("read schedule %s: %w", path, ErrStatus)
	}
	s := Schedule{Stats: make([]uint64, scheduleStatsCount), Histograms: make([][]uint64, scheduleHistCount)}
	for i := range s.Stats {
		s.Stats[i] = u64(scheduleStatsOffset + 8*i)
	}
	for i := range s.Histograms {
		s.Histograms[i] = make([]uint64, scheduleBucketsCount)
		for j := range s.Histograms[i] {
			s.Histograms[i][j] = u64(scheduleHistOffset + 8*(i*scheduleBucketsCount+j))
		}
	}
	s.Records = make([]byte, scheduleRecordSize*min(u64(scheduleCountOffset), scheduleCapacity))
	if _, err := io.ReadFull(f, s.Records); err != nil {
		return Schedule{}, fmt.Errorf("read schedule %s: %w: its records are cut off", path, ErrStatus)
	}
	return s, nil
}
