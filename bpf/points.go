package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Plan is a perturbation as whoever carries it out without the kernel's help reads it: struct misstep_config of intf.h, little-endian.
func (p Perturbation) Plan() ([]byte, error) {
	config, err := p.config()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, config); err != nil {
		return nil, fmt.Errorf("write the plan of a perturbation: %w", err)
	}
	return b.Bytes(), nil
}

// Taken is what was done by a plan: counters by enum misstep_stat, histograms by enum misstep_histogram, and records as in a log.
type Taken struct {
	Stats      []uint64
	Histograms [][]uint64
	Records    []byte
}

// ErrTaken is wrapped by errors about records that no carrier of a plan writes.
var ErrTaken = errors.New("damaged schedule")

// Report sums up what was taken, thread by thread as far as there are records, and writes the records to log.
func (t Taken) Report(p Perturbation, log *LogWriter) (*Report, error) {
	if len(t.Stats) != int(schedMisstepStatMISSTEP_STATS) || len(t.Histograms) != int(schedMisstepHistogramMISSTEP_HISTOGRAMS) || len(t.Records)%recordSize != 0 {
		return nil, fmt.Errorf("%w: %d counters, %d histograms and %d bytes of records", ErrTaken, len(t.Stats), len(t.Histograms), len(t.Records))
	}
	r := &Report{Perturbation: p}
	r.count(t.Stats)
	r.Chosen, r.Late, r.Wait = t.Histograms[0], t.Histograms[1], t.Histograms[2]
	names := threadNames{}
	at := map[uint64]int{}
	for raw := t.Records; len(raw) > 0; raw = raw[recordSize:] {
		record := parseRecord(raw)
		switch record.Kind {
		case RecordUnspecified: // its thread was killed before it wrote it
			continue
		case RecordThread:
			names.add(record)
			at[record.Path] = len(r.Threads)
			r.Threads = append(r.Threads, ThreadReport{
				Name: names.name(record.Path), Path: record.Path, TID: record.TID, Comm: record.Comm, Role: record.Role.String(),
			})
		case RecordDecision:
			if err := bounded(record); err != nil {
				return nil, errors.Join(ErrTaken, err)
			}
			if i, known := at[record.Path]; known {
				r.Threads[i].add(record)
			}
		default:
			return nil, fmt.Errorf("%w: a record of kind %d", ErrTaken, record.Kind)
		}
		log.Add(record)
	}
	return r, nil
}

func (t *ThreadReport) add(r Record) {
	t.Decisions++
	if r.Delay > 0 {
		t.Delays++
		t.Delay += time.Duration(r.Delay)
		t.LongestDelay = max(t.LongestDelay, time.Duration(r.Delay))
	}
	for mark, n := range map[Mark]*uint32{MarkStarved: &t.Starved, MarkShort: &t.ShortSlices, MarkChanged: &t.PriorityChanges} {
		if r.Marks&mark != 0 {
			*n++
		}
	}
}
