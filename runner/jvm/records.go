package jvm

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"misstep/internal/regular"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	maxRecords     = 16384     // different mismatches that are read
	maxRecordBytes = 32 << 20  // bytes of one line: two traces of the deepest stacks, 16,384 frames each
	maxRecordsRead = 256 << 20 // bytes read of the file
	maxReturnCode  = 64        // bytes of code at C code's return address that tell places apart: later ones may be patched
	maxSaved       = 6 * 8     // bytes of the registers that C code saves before it allocates its local variables
)

// readRecords is ReadRecords of a file; one that does not exist has no records.
func readRecords(path string) (mismatches []*misstepv1.Mismatch, damaged int, err error) {
	f, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read mismatch records: %w", err)
	}
	defer f.Close()
	mismatches, damaged = ReadRecords(f)
	return mismatches, damaged, nil
}

// ReadRecords reads mismatch records, one JSON object a line, and merges those of the same boundary and moment; moments are kept
// apart because triage may distinguish them. The most frequent moment of each boundary comes first, so that a bound on the number
// cuts off the most redundant ones. damaged counts the lines that are not a record, without the last line of a JVM that died while
// writing it. At most 256 MiB are read.
func ReadRecords(f io.Reader) (mismatches []*misstepv1.Mismatch, damaged int) {
	byKey := map[string]*misstepv1.Mismatch{}
	lines := bufio.NewScanner(io.LimitReader(f, maxRecordsRead))
	lines.Buffer(make([]byte, 64<<10), maxRecordBytes)
	bad := false // the line before was damaged
	for lines.Scan() {
		if bad {
			damaged, bad = damaged+1, false
		}
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		m := &misstepv1.Mismatch{}
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(lines.Bytes(), m); err != nil || m.GetCheck() == "" {
			bad = true
			continue
		}
		m.Count = max(1, m.GetCount())
		m.Architecture = cmp.Or(m.GetArchitecture(), runtime.GOARCH) // JVMs here have this machine's architecture
		key := boundaryKey(m) + "\x00" + moment(m)
		known, ok := byKey[key]
		switch {
		case !ok && len(byKey) < maxRecords:
			byKey[key] = m
		case !ok:
		case depth(m) < depth(known): // shorter stacks make a better example
			m.Count += known.GetCount()
			byKey[key] = m
		default:
			known.Count += m.GetCount()
		}
	}
	if err := lines.Err(); err != nil {
		damaged++ // a line exceeds the bound; nothing after it was read
	}
	for _, m := range byKey {
		mismatches = append(mismatches, m)
	}
	slices.SortFunc(mismatches, func(a, b *misstepv1.Mismatch) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), cmp.Compare(a.GetSequence(), b.GetSequence()),
			cmp.Compare(boundaryKey(a), boundaryKey(b)))
	})
	before, nth := map[string]int{}, map[*misstepv1.Mismatch]int{}
	for _, m := range mismatches {
		key := boundaryKey(m)
		nth[m] = before[key]
		before[key]++
	}
	slices.SortStableFunc(mismatches, func(a, b *misstepv1.Mismatch) int { return cmp.Compare(nth[a], nth[b]) })
	return mismatches, damaged
}

func depth(m *misstepv1.Mismatch) int {
	return len(m.GetReference().GetFrames()) + len(m.GetSuspect().GetFrames())
}

// boundaryKey returns check, kind and the methods on both sides of the divergence in both traces.
func boundaryKey(m *misstepv1.Mismatch) string {
	parts := []string{m.GetCheck(), m.GetKind()}
	for _, trace := range []*misstepv1.Trace{m.GetReference(), m.GetSuspect()} {
		frames := trace.GetFrames()
		for _, fromBottom := range []int{int(m.GetDivergence()) - 1, int(m.GetDivergence())} {
			text := "-"
			if i := len(frames) - 1 - fromBottom; i >= 0 && i < len(frames) {
				text = frames[i].GetClassName() + "." + frames[i].GetMethod() + frames[i].GetDescriptor_()
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\x00")
}

// moment describes the code on top of the stack and its state: two walks that go wrong at one boundary at different moments may
// show two bugs (agent/native/src/record.cpp).
func moment(m *misstepv1.Mismatch) string {
	frame := "no return address"
	if at, sp, fp := m.GetReturnAt(), m.GetSp(), m.GetFp(); at != 0 {
		frame = fmt.Sprint(at-sp <= maxSaved, fp < sp || fp > at)
	}
	return fmt.Sprintf("%s\x00%x\x00%s\x00%x\x00%v\x00%v\x00%s\x00%s", m.GetTopState(), m.GetCode(), m.GetReturnState(),
		m.GetReturnCode()[:min(len(m.GetReturnCode()), maxReturnCode)], m.GetReturnCopied(), m.GetDeoptimisedCaller() != nil, frame,
		m.GetTopCall().GetClassName()+"."+m.GetTopCall().GetMethod())
}
