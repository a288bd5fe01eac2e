// Package transport secures the connections between coordinators and their clients with TLS 1.3. Certificates, keys, authorities
// and lists of revoked certificates are files, which may change while a process runs: they are looked at (stat) when they are
// needed, at most once a second, so a change counts from the next call on, on standing connections too, whichever way the files
// were replaced: in place, by renaming, by a changed symbolic link or on a file system of another host, of which notifications of
// the kernel tell only some. What cannot be used is logged, and the files as they were before stay in force.
//
// google.golang.org/grpc/security/advancedtls looks at files by a timer of its own for each, judges a peer only when it connects,
// so that a revoked runner would stay, and logs failures where this program's log has nothing of them.
package transport

import (
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Files are the files of one end of connections, in PEM; a path may be empty.
type Files struct {
	// CA has the authorities that the other end's certificate must be signed by.
	CA string
	// Certificate, with those between it and the authority, and its Key, are this end's own.
	Certificate, Key string
	// CRL has lists of revoked certificates of these authorities.
	CRL string
}

// Any reports whether a file is given.
func (f Files) Any() bool { return f != Files{} }

func (f Files) paths() []string { return []string{f.CA, f.Certificate, f.Key, f.CRL} }

// lookInterval is the least time between two looks at the files.
const lookInterval = time.Second

// Source gives what the files hold now. It is safe for concurrent use.
type Source struct {
	files  Files
	logger *slog.Logger
	clock  func() time.Time

	current atomic.Pointer[material]
	next    atomic.Int64 // earliest time of the next look, in Unix nanoseconds

	mu   sync.Mutex
	seen stamps // of the last look; guarded by mu
	// warned is the last time of a warning by what it is about; guarded by mu.
	warned map[string]time.Time
}

// stamps tell whether files changed.
type stamps [4]os.FileInfo

func (f Files) stamp() (s stamps) {
	for i, path := range f.paths() {
		if path != "" {
			s[i], _ = os.Stat(path) // one that is not there is found by reading
		}
	}
	return s
}

func (s stamps) equal(other stamps) bool {
	for i, a := range s {
		b := other[i]
		if (a == nil) != (b == nil) {
			return false
		}
		if a != nil && (!os.SameFile(a, b) || a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime())) {
			return false
		}
	}
	return true
}

// Open reads files. Later failures go to the logger.
func Open(files Files, logger *slog.Logger) (*Source, error) { return open(files, logger, time.Now) }

func open(files Files, logger *slog.Logger, clock func() time.Time) (*Source, error) {
	s := &Source{files: files, logger: logger, clock: clock, warned: map[string]time.Time{}}
	s.seen = files.stamp()
	m, err := load(files)
	if err != nil {
		return nil, err
	}
	s.use(m)
	return s, nil
}

// now returns what is in force, after a look at the files if the last one is a while ago.
func (s *Source) now() *material {
	if now, next := s.clock().UnixNano(), s.next.Load(); now < next || !s.next.CompareAndSwap(next, now+int64(lookInterval)) {
		return s.current.Load()
	}
	s.look()
	return s.current.Load()
}

// look reads the files again if they have changed.
func (s *Source) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.warn(s.current.Load())
	found := s.files.stamp() // before reading: what changes meanwhile is seen by the next look
	if found.equal(s.seen) {
		return
	}
	s.seen = found
	m, err := load(s.files)
	if err != nil {
		s.logger.Error("changed TLS files cannot be used; those from before stay in force", "error", err)
		return
	}
	s.logger.Info("TLS files changed", "expires", m.first())
	s.use(m)
}

func (s *Source) use(m *material) {
	if old := s.current.Load(); old != nil {
		m.generation = old.generation + 1
	}
	s.current.Store(m)
}

// warnAgain is the time between two warnings about the same thing.
const warnAgain = 24 * time.Hour

// warn logs what ends soon, once a day.
func (s *Source) warn(m *material) {
	now := s.clock()
	for _, e := range m.expiries {
		if now.Before(e.warnFrom()) || now.Sub(s.warned[e.path]) < warnAgain {
			continue
		}
		s.warned[e.path] = now
		s.logger.Warn(e.what+" ends soon or has ended: replace the file, a restart is not needed", "file", e.path,
			"expires", e.to.Format(time.RFC3339), "left", e.to.Sub(now).Round(time.Minute))
	}
}

// Watch looks at the files every minute until done is closed, so that what ends is warned of while nobody connects.
func (s *Source) Watch(done <-chan struct{}) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		s.now()
		select {
		case <-done:
			return
		case <-ticker.C:
		}
	}
}

// EachExpiry shows what ends (certificate, authority, or list of revoked certificates), its file, and when it ends.
func (s *Source) EachExpiry(show func(what, file string, at time.Time)) {
	for _, e := range s.now().expiries {
		show(e.what, e.path, e.to)
	}
}
