package retention

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"misstep/corpus"
	"misstep/internal/atomicfile"
	misstepv1 "misstep/proto/misstep/v1"
)

// segmentVersion changes with what refers to a blob (see trialMarks.references) and with the format of the files.
const segmentVersion = 2

// schema is a digest of the messages of a trial: with another field a trial may refer to more.
var schema = sync.OnceValue(func() (short [8]byte) {
	h := sha256.New()
	fmt.Fprintln(h, segmentVersion)
	seen := map[string]bool{}
	var file func(f protoreflect.FileDescriptor)
	file = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(protodesc.ToFileDescriptorProto(f)) // it was read as one
		_, _ = h.Write(raw)
		for i := range f.Imports().Len() {
			file(f.Imports().Get(i))
		}
	}
	file((&misstepv1.Outcome{}).ProtoReflect().Descriptor().ParentFile())
	file((&misstepv1.Recipe{}).ProtoReflect().Descriptor().ParentFile())
	copy(short[:], h.Sum(nil))
	return short
})

// segmentHead is the beginning of a segment's file; digests, trees and a SHA-256 of everything before follow.
type segmentHead struct {
	Key                    segmentKey
	Last, LastIndex        uint64
	LastEnded              int64
	Trials, Digests, Trees uint64
}

// segmentPath is the file of a segment. The key of a campaign is hexadecimal digits after a letter, after @, its project and a
// slash if that is not the default one; names of projects have no slash.
func segmentPath(cache, campaign string, after uint64) string {
	return filepath.Join(cache, campaign, fmt.Sprintf("%d.marks", after))
}

func writeSegment(path string, s *segment) error {
	var b bytes.Buffer
	head := segmentHead{
		Key: s.segmentKey, Last: s.Last, LastIndex: s.LastIndex, LastEnded: s.LastEnded, Trials: s.Trials,
		Digests: uint64(len(s.digests)), Trees: uint64(len(s.trees)),
	}
	for _, part := range []any{head, s.digests} {
		if err := binary.Write(&b, binary.BigEndian, part); err != nil {
			return err
		}
	}
	for _, d := range s.trees {
		sum := d.Sum()
		b.Write(sum[:])
	}
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, b.Bytes(), 0o644)
}

// readSegment returns nil for a file that is not there or is damaged: its segment is made again.
func readSegment(path string) *segment {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < sha256.Size {
		return nil
	}
	body, end := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], end) {
		return nil
	}
	r := bytes.NewReader(body)
	var head segmentHead
	if binary.Read(r, binary.BigEndian, &head) != nil || head.Digests*8+head.Trees*sha256.Size != uint64(r.Len()) {
		return nil
	}
	s := &segment{
		segmentKey: head.Key, Last: head.Last, LastIndex: head.LastIndex, LastEnded: head.LastEnded, Trials: head.Trials,
		digests: make([]uint64, head.Digests),
	}
	if binary.Read(r, binary.BigEndian, s.digests) != nil {
		return nil
	}
	for range head.Trees {
		var sum [sha256.Size]byte
		if binary.Read(r, binary.BigEndian, &sum) != nil {
			return nil
		}
		s.trees = append(s.trees, corpus.DigestOf(sum))
	}
	return s
}
