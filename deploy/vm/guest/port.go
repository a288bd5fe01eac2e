package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"misstep/deploy/vm/wire"
)

// port carries frames from the guest to the host. Safe for concurrent use: frames are written whole.
type port struct {
	mu  sync.Mutex
	fd  int
	buf []byte
}

// openPort finds the virtio port by its name. The driver is built in, but the device announces its ports by messages, so they may
// appear a little later.
func openPort() (*port, error) {
	for range 500 {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, fmt.Errorf("looking for the host's port: %w", err)
		}
		for _, file := range names {
			name, err := os.ReadFile(file)
			if err != nil || strings.TrimSpace(string(name)) != wire.PortName {
				continue
			}
			device := "/dev/" + filepath.Base(filepath.Dir(file))
			fd, err := unix.Open(device, unix.O_WRONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, fmt.Errorf("opening the host's port %s: %w", device, err)
			}
			return &port{fd: fd}, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errors.New("the machine has no virtio port named " + wire.PortName)
}

func (p *port) send(kind wire.Kind, payload []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	if p.buf, err = wire.Append(p.buf[:0], wire.Frame{Kind: kind, Payload: payload}); err != nil {
		return err
	}
	for rest := p.buf; len(rest) > 0; {
		n, err := unix.Write(p.fd, rest)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("writing to the host: %w", err)
		}
		rest = rest[n:]
	}
	return nil
}

func (p *port) note(format string, args ...any) {
	// An error can be ignored: the exit frame will fail in the same way, and that is reported.
	_ = p.send(wire.KindNote, fmt.Appendf(nil, format, args...))
}
