package jvm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"misstep/internal/capped"
	"misstep/internal/regular"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

const (
	maxRecords     = 16384     // different mismatches that are read
	maxRecordBytes = 32 << 20  // bytes of one line: two traces of the deepest stacks, 16,384 frames each
	maxRecordParts = 1 << 18   // see parts, of one line: two such traces have 5 for each frame
	maxRecordText  = 6 << 16   // bytes of one text as written: a name of the JVM's largest size, all of it escaped
	maxRecordsRead = 256 << 20 // bytes read of the file
	maxPartsRead   = 1 << 24   // of the file
	maxPartsMade   = 6 << 20   // of the file without the frames that it has again: a microsecond each
	maxRecordsKept = 64 << 20  // bytes of memory that the mismatches may take, about
	keptWidth      = 64        // frames that are kept of each stretch of a trace where there is no room for all
	maxReturnCode  = 64        // bytes of code at C code's return address that tell places apart: later ones may be patched
	maxSaved       = 6 * 8     // bytes of the registers that C code saves before it allocates its local variables
)

// Records are the mismatches that a file of records has. The JVM's user wrote it, so that it may hold anything.
type Records struct {
	// Mismatches without those that others are merged with.
	Mismatches []*misstepv1.Mismatch
	// Damaged counts the lines that are not a record, Torn the last line of a JVM that died while writing it.
	Damaged, Torn int
	// TooLarge counts the records that exceed a bound, LeftOut those for which there was no room.
	TooLarge, LeftOut int
	// Cut reports that the file was not read to its end, Other that there is something else in its place, as a pipe.
	Cut, Other bool
}

// excess says in one line what of the records was too much, "" if nothing was.
func (r Records) excess() string {
	switch {
	case r.Other:
		return "the mismatch records are not a regular file"
	case r.TooLarge > 0:
		return fmt.Sprintf("%d mismatch records are larger than any that the agent writes", r.TooLarge)
	case r.LeftOut > 0:
		return fmt.Sprintf("there was no room for %d mismatch records besides %d others", r.LeftOut, len(r.Mismatches))
	case r.Cut:
		return fmt.Sprintf("the mismatch records have more than the %d MiB, %d values or %d different ones that are read",
			maxRecordsRead>>20, maxPartsRead, maxPartsMade)
	}
	return ""
}

// readRecords is ReadRecords of a file; one that does not exist has no records.
func readRecords(ctx context.Context, path string) (Records, error) {
	f, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return Records{}, nil
	}
	if errors.Is(err, regular.ErrOther) {
		return Records{Other: true}, nil
	}
	if err != nil {
		return Records{}, fmt.Errorf("read mismatch records: %w", err)
	}
	defer f.Close()
	return ReadRecords(ctx, f)
}

// ReadRecords reads mismatch records, one JSON object a line, and merges those of the same boundary and moment; moments are kept
// apart because triage may distinguish them. The most frequent moment of each boundary comes first, so that a bound on the number
// cuts off the most redundant ones. What is read is bounded, and so are the memory and the time that it takes. The error is ctx's,
// if that ends before.
func ReadRecords(ctx context.Context, f io.Reader) (Records, error) {
	limited := &io.LimitedReader{R: f, N: maxRecordsRead + 1}
	k := newKeeper()
	in := bufio.NewReaderSize(limited, 64<<10)
	var line []byte
	for ended := false; !ended && !k.Cut; {
		if ctx.Err() != nil {
			return Records{}, ctx.Err()
		}
		var err error
		line, err = capped.ReadLine(in, line[:0], maxRecordBytes+1)
		ended = err != nil
		k.line(line, ended)
	}
	k.Cut = k.Cut || limited.N == 0
	k.order()
	return k.Records, nil
}

// keeper merges records.
type keeper struct {
	Records
	kept  map[[sha256.Size]byte]*keptRecord // by boundary and moment
	size  int                               // of all that is kept, see sizeOf
	parts int                               // of the lines so far
	made  frameTable
}

func newKeeper() keeper {
	return keeper{kept: map[[sha256.Size]byte]*keptRecord{}, made: frameTable{known: map[string]*misstepv1.Frame{}}}
}

type keptRecord struct {
	*misstepv1.Mismatch
	boundary [sha256.Size]byte
}

// line takes a line; the last one has no end.
func (k *keeper) line(line []byte, last bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	n, longest := parts(line)
	if len(line) > maxRecordBytes || n > maxRecordParts || longest > maxRecordText {
		k.TooLarge++
		return
	}
	if k.parts += n; k.parts > maxPartsRead || k.made.parts > maxPartsMade {
		k.Cut = true
		return
	}
	m, err := k.made.record(line)
	switch {
	case err == nil && m.GetCheck() != "" && m.GetKind() != "":
		k.record(m)
	case last:
		k.Torn++
	default:
		k.Damaged++
	}
}

// parts bounds the values in a line of JSON, which decide how much memory it takes when it is decoded: they are at most twice as
// many and one. longest is the length of the longest text, in bytes as written.
func parts(line []byte) (n, longest int) {
	quoted, escaped, begin := false, false, 0
	for i, c := range line {
		if quoted {
			longest = max(longest, i-begin)
		}
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted, begin = !quoted, i+1
		case !quoted && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n, longest
}

func (k *keeper) record(m *misstepv1.Mismatch) {
	if triage.Bounded(m) != nil {
		k.TooLarge++
		return
	}
	m.Count = max(1, m.GetCount())
	m.Architecture = cmp.Or(m.GetArchitecture(), runtime.GOARCH) // JVMs here have this machine's architecture
	r := keptRecord{m, sha256.Sum256([]byte(boundaryKey(m)))}
	key := sha256.Sum256([]byte(string(r.boundary[:]) + moment(m)))
	known := k.kept[key]
	switch {
	case known == nil && len(k.kept) < maxRecords && k.room(&r, 0):
		k.kept[key] = &r
	case known == nil:
		k.LeftOut++
	case depth(m) < depth(known.Mismatch) && k.room(&r, sizeOf(known.Mismatch)): // shorter stacks make a better example
		r.Count += known.GetCount()
		*known = r
	default:
		known.Count += m.GetCount()
	}
}

// room reports whether there is room for a record, which it shortens if that takes it, where another one of a size was, and counts
// it.
func (k *keeper) room(r *keptRecord, freed int) bool {
	size := sizeOf(r.Mismatch)
	if k.size-freed+least > maxRecordsKept {
		return false
	}
	if k.size-freed+size > maxRecordsKept/2 {
		r.Mismatch = triage.Shorten(r.Mismatch, keptWidth)
		size = sizeOf(r.Mismatch)
	}
	if k.size-freed+size > maxRecordsKept {
		return false
	}
	k.size += size - freed
	return true
}

// least is what any mismatch takes, see sizeOf.
const least = 1024

// sizeOf is about what a mismatch takes of memory, in bytes.
func sizeOf(m *misstepv1.Mismatch) int {
	const message = 128 // of each frame and word, besides their texts
	return least + proto.Size(m) + message*(depth(m)+len(m.GetStack()))
}

// order sets Mismatches to what was kept.
func (k *keeper) order() {
	all := slices.SortedFunc(maps.Values(k.kept), func(a, b *keptRecord) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), cmp.Compare(a.GetSequence(), b.GetSequence()),
			bytes.Compare(a.boundary[:], b.boundary[:]))
	})
	before, nth := map[[sha256.Size]byte]int{}, map[*keptRecord]int{}
	for _, r := range all {
		nth[r] = before[r.boundary]
		before[r.boundary]++
	}
	slices.SortStableFunc(all, func(a, b *keptRecord) int { return cmp.Compare(nth[a], nth[b]) })
	for _, r := range all {
		k.Mismatches = append(k.Mismatches, r.Mismatch)
	}
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
