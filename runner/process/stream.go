package process

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// tailSize is the size in bytes of a stream's end that is always kept.
const tailSize = 128 << 10

// Stream receives a program's output, keeps its beginning in a file and its end in memory, and drops and counts the bytes between.
// Safe for concurrent use.
type Stream struct {
	keep, hard int64
	onHard     func()

	mu    sync.Mutex
	file  *os.File
	head  int64 // bytes in file
	total int64
	tail  []byte // ring of tailSize
	tap   *tap
	err   error // first failure to write the file
}

type tap struct {
	maxBytes int
	data     []byte
}

// NewStream returns a stream that keeps about keep bytes in a new file at path. onHard is called once when more than hard bytes
// were received.
func NewStream(path string, keep, hard int64, onHard func()) (*Stream, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make stream file: %w", err)
	}
	return &Stream{keep: keep, hard: hard, onHard: onHard, file: file, tail: make([]byte, tailSize)}, nil
}

// copy reads from until it ends. It continues after a write error, so that the program does not block.
func (s *Stream) copy(from io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		s.take(buffer[:n])
		if err != nil {
			return
		}
	}
}

func (s *Stream) take(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tap != nil {
		s.tap.data = append(s.tap.data, data[:min(len(data), s.tap.maxBytes-len(s.tap.data))]...)
	}
	if room := s.keep - s.head; room > 0 && s.err == nil && s.head == s.total {
		n, err := s.file.Write(data[:min(int64(len(data)), room)])
		s.head += int64(n)
		s.err = err
	}
	for rest, at := data, s.total; len(rest) > 0; {
		if skip := len(rest) - tailSize; skip > 0 {
			rest, at = rest[skip:], at+int64(skip)
		}
		n := copy(s.tail[at%tailSize:], rest)
		rest, at = rest[n:], at+int64(n)
	}
	before := s.total
	s.total += int64(len(data))
	if before <= s.hard && s.total > s.hard && s.onHard != nil {
		s.onHard()
	}
}

// Tap keeps the output from now on, at most maxBytes; read returns what was received so far.
func (s *Stream) Tap(maxBytes int) (read func() []byte) {
	t := &tap{maxBytes: maxBytes}
	s.mu.Lock()
	s.tap = t
	s.mu.Unlock()
	return func() []byte {
		s.mu.Lock()
		defer s.mu.Unlock()
		return append([]byte(nil), t.data...)
	}
}

// Tail returns the end of the stream, at most 128 KiB.
func (s *Stream) Tail() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lockedTail(s.total - min(s.total, tailSize))
}

func (s *Stream) lockedTail(from int64) []byte {
	out := make([]byte, 0, s.total-from)
	for from < s.total {
		at := from % tailSize
		n := min(tailSize-at, s.total-from)
		out = append(out, s.tail[at:at+n]...)
		from += n
	}
	return out
}

// Total returns the number of bytes received.
func (s *Stream) Total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Close completes the file: if bytes were dropped, a line that counts them precedes the stream's end. It returns the first error
// that occurred while writing the file.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return s.err
	}
	if s.err == nil && s.head < s.total {
		from := max(s.head, s.total-tailSize)
		if dropped := from - s.head; dropped > 0 {
			_, s.err = fmt.Fprintf(s.file, "\n[misstep: %d bytes dropped]\n", dropped)
		}
		if s.err == nil {
			_, s.err = s.file.Write(s.lockedTail(from))
		}
	}
	if err := s.file.Close(); s.err == nil {
		s.err = err
	}
	s.file = nil
	if s.err != nil {
		s.err = fmt.Errorf("write stream file: %w", s.err)
	}
	return s.err
}
