package schedule

import (
	"errors"
	"fmt"
	"time"
)

// Taken is the result of a plan: counters by enum misstep_stat, histograms by enum misstep_histogram, and records as in a log.
type Taken struct {
	Stats      []uint64
	Histograms [][]uint64
	Records    []byte
}

// ErrTaken is wrapped by errors about a result that no agent writes.
var ErrTaken = errors.New("damaged schedule")

// Report summarises the result, by thread as far as there are records, and writes the records to log.
func (t Taken) Report(p Perturbation, log *LogWriter) (*Report, error) {
	if len(t.Stats) != int(Stats) || len(t.Histograms) != int(Histograms) || len(t.Records)%RecordSize != 0 {
		return nil, fmt.Errorf("%w: %d counters, %d histograms and %d bytes of records", ErrTaken, len(t.Stats), len(t.Histograms),
			len(t.Records))
	}
	r := &Report{Perturbation: p}
	r.Count(t.Stats)
	r.Chosen, r.Late, r.Wait = t.Histograms[0], t.Histograms[1], t.Histograms[2]
	names := ThreadNames{}
	at := map[uint64]int{}
	for raw := t.Records; len(raw) > 0; raw = raw[RecordSize:] {
		record := ParseRecord(raw)
		switch record.Kind {
		case RecordUnspecified: // its thread was killed before writing it
			continue
		case RecordThread:
			names.Add(record)
			at[record.Path] = len(r.Threads)
			r.Threads = append(r.Threads, ThreadReport{
				Name: names.Name(record.Path), Path: record.Path, TID: record.TID, Comm: record.Comm, Role: record.Role.String(),
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
