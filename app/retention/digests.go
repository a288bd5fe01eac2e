package retention

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

const (
	// digestParts are the parts of a set, by the first byte of a digest.
	digestParts = 256
	// digestPage is the number of digests of a part that are written at once.
	digestPage = 512
	// partsInMemory are those that were asked for last. Blobs are listed in the order of their digests, by a few at a time.
	partsInMemory = 4
)

// digestSet is a set of the first eight bytes of digests. Most of a large one is in a temporary file: in memory are a page of each
// part, and the parts that were asked for last. The zero value is empty and has no file.
type digestSet struct {
	mu     sync.Mutex
	parts  [digestParts]digestPart
	file   *os.File // already removed from its folder
	end    int64
	loaded []loadedPart // the last one was asked for last
	err    error
}

type digestPart struct {
	page []uint64 // what is not in the file
	at   []int64  // pages in the file
}

type loadedPart struct {
	part int
	all  []uint64 // in order
}

func partOf(d uint64) int { return int(d >> 56) }

// add adds digests. An error is kept for has, which then says yes to everything of the part.
func (s *digestSet) add(digests ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = nil
	for _, d := range digests {
		p := &s.parts[partOf(d)]
		if p.page = append(p.page, d); len(p.page) == digestPage {
			s.write(p)
		}
	}
}

func (s *digestSet) write(p *digestPart) {
	if s.err != nil {
		p.page = p.page[:0] // it is no more of use
		return
	}
	slices.Sort(p.page)
	// The same digest comes again and again: that of a JDK in each trial.
	if p.page = slices.Compact(p.page); len(p.page) <= digestPage/2 {
		return
	}
	if s.file == nil {
		if s.err = s.create(); s.err != nil {
			return
		}
	}
	raw := make([]byte, 0, digestPage*8)
	for _, d := range p.page {
		raw = binary.BigEndian.AppendUint64(raw, d)
	}
	raw = raw[:cap(raw)] // the rest of a page is digests that nobody has
	if _, s.err = s.file.WriteAt(raw, s.end); s.err != nil {
		return
	}
	p.at = append(p.at, s.end)
	s.end += int64(len(raw))
	p.page = p.page[:0]
}

func (s *digestSet) create() (err error) {
	if s.file, err = os.CreateTemp("", "misstep-marks-"); err != nil {
		return err
	}
	return os.Remove(s.file.Name())
}

// has reports whether a digest is in the set, or may be, when it cannot be read.
func (s *digestSet) has(d uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := partOf(d)
	i := slices.IndexFunc(s.loaded, func(l loadedPart) bool { return l.part == part })
	if i < 0 {
		all, err := s.load(part)
		if err != nil {
			s.err = errors.Join(s.err, err)
			return true
		}
		if len(s.loaded) == partsInMemory {
			s.loaded = slices.Delete(s.loaded, 0, 1)
		}
		s.loaded = append(s.loaded, loadedPart{part, all})
		i = len(s.loaded) - 1
	}
	_, found := slices.BinarySearch(s.loaded[i].all, d)
	return found
}

func (s *digestSet) load(part int) ([]uint64, error) {
	if s.err != nil {
		return nil, s.err
	}
	p := &s.parts[part]
	all := make([]uint64, 0, len(p.at)*digestPage+len(p.page))
	raw := make([]byte, digestPage*8)
	for _, at := range p.at {
		if _, err := s.file.ReadAt(raw, at); err != nil {
			return nil, err
		}
		for r := raw; len(r) > 0; r = r[8:] {
			all = append(all, binary.BigEndian.Uint64(r))
		}
	}
	all = append(all, p.page...)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (s *digestSet) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return fmt.Errorf("keep the digests of needed blobs in a temporary file: %w", s.err)
	}
	return nil
}

func (s *digestSet) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
