package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"misstep/deploy/vm/wire"
)

// receiver processes the guest's frames. The guest is not trusted: names stay below dir, and the sequence of frames and the size of
// the evidence are checked, whatever the guest was told about its bounds.
type receiver struct {
	dir            string // for evidence; empty: evidence is dropped
	maxEvidence    int64  // bytes of all evidence together
	stdout, stderr io.Writer

	greeted bool
	exit    *wire.Exit
	notes   []string
	file    *os.File
	inFile  bool
	bytes   int64 // of evidence so far
	files   int
}

// maxFiles bounds the number of files of a guest's evidence.
const maxFiles = 100_000

// maxNotes bounds the number of the guest's notes that are kept.
const maxNotes = 100

// receive reads to the end of the stream.
func (r *receiver) receive(from io.Reader) error {
	defer func() {
		if r.file != nil {
			_ = r.file.Close()
		}
	}()
	for {
		frame, err := wire.Read(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.take(frame); err != nil {
			return err
		}
	}
}

func (r *receiver) take(f wire.Frame) error {
	if r.exit != nil {
		return fmt.Errorf("%w: a frame after the last one", wire.ErrCorrupt)
	}
	if r.greeted == (f.Kind == wire.KindHello) {
		return fmt.Errorf("%w: a frame of kind %d out of order", wire.ErrCorrupt, f.Kind)
	}
	switch f.Kind {
	case wire.KindHello:
		r.greeted = true
		if len(f.Payload) != 1 || f.Payload[0] != wire.Version {
			return wire.ErrVersion
		}
		return nil
	case wire.KindStdout:
		return write(r.stdout, f.Payload)
	case wire.KindStderr:
		return write(r.stderr, f.Payload)
	case wire.KindFile:
		return r.begin(f.Payload)
	case wire.KindData:
		if !r.inFile {
			return fmt.Errorf("%w: data of no file", wire.ErrCorrupt)
		}
		if r.file == nil {
			return nil
		}
		if r.bytes += int64(len(f.Payload)); r.bytes > r.maxEvidence {
			return fmt.Errorf("%w: more evidence than the %d bytes that are allowed", wire.ErrCorrupt, r.maxEvidence)
		}
		return write(r.file, f.Payload)
	case wire.KindFileEnd:
		return r.end()
	case wire.KindNote:
		if len(r.notes) < maxNotes {
			r.notes = append(r.notes, string(f.Payload))
		}
		return nil
	case wire.KindExit:
		r.exit = &wire.Exit{}
		if err := json.Unmarshal(f.Payload, r.exit); err != nil {
			r.exit = nil
			return fmt.Errorf("%w: exit: %w", wire.ErrCorrupt, err)
		}
		return nil
	default:
		return fmt.Errorf("%w: kind %d", wire.ErrCorrupt, f.Kind)
	}
}

func (r *receiver) begin(payload []byte) error {
	if r.inFile {
		return fmt.Errorf("%w: a file within a file", wire.ErrCorrupt)
	}
	var header wire.FileHeader
	if err := json.Unmarshal(payload, &header); err != nil {
		return fmt.Errorf("%w: file header: %w", wire.ErrCorrupt, err)
	}
	if !filepath.IsLocal(header.Name) || filepath.Clean(header.Name) == "." {
		return fmt.Errorf("%w: evidence named %q", wire.ErrCorrupt, header.Name)
	}
	r.inFile = true
	if r.dir == "" {
		return nil
	}
	if r.files++; r.files > maxFiles {
		return fmt.Errorf("%w: more than %d files of evidence", wire.ErrCorrupt, maxFiles)
	}
	root, err := os.OpenRoot(r.dir) // no link in the path can lead out of it
	if err != nil {
		return fmt.Errorf("keeping evidence: %w", err)
	}
	defer root.Close()
	if parent := filepath.Dir(header.Name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return fmt.Errorf("keeping evidence: %w", err)
		}
	}
	// Never executable and always readable by its owner here, whatever its mode in the guest.
	if r.file, err = root.OpenFile(header.Name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644); err != nil {
		return fmt.Errorf("keeping evidence: %w", err)
	}
	return nil
}

func (r *receiver) end() error {
	if !r.inFile {
		return fmt.Errorf("%w: the end of no file", wire.ErrCorrupt)
	}
	r.inFile = false
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	if err != nil {
		return fmt.Errorf("keeping evidence: %w", err)
	}
	return nil
}

func write(w io.Writer, data []byte) error {
	if w == nil {
		return nil
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("writing the guest's output: %w", err)
	}
	return nil
}
