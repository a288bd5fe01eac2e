// Package wire is the protocol between the host and the guest's init: a job in, a stream of frames out.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Version is the version of the job and the frames; both sides must agree.
const Version = 1

// PortName is the name of the virtio port that carries the frames.
const PortName = "misstep"

// JobPath is the path of the job in the guest.
const JobPath = "/misstep/job.json"

// ModulesPath is the guest's folder of kernel modules, loaded in the order of their names.
const ModulesPath = "/misstep/modules"

// Job is one command to run in the guest.
type Job struct {
	Version int      `json:"version"`
	Shared  bool     `json:"shared"` // the host's root is at the virtiofs tag "root"
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
	Env     []string `json:"env"`
	UID     int      `json:"uid"`
	GID     int      `json:"gid"`
	// paths in the guest to return, folders with their contents; a missing one is noted, not an error
	Evidence []string `json:"evidence"`
	// MaxEvidence bounds the bytes of all evidence together.
	MaxEvidence int64 `json:"max_evidence"`
	// LimitNanos limits the command's time by the guest's clock; 0 means no limit.
	LimitNanos int64 `json:"limit_nanos"`
	// Files are small files to write before the command starts, by absolute path.
	Files map[string][]byte `json:"files"`
}

// Exit describes how the command ended; the last frame of every run.
type Exit struct {
	Code     int    `json:"code"`      // 128+signal when a signal ended it, as in a shell
	Signal   int    `json:"signal"`    // 0: none
	TimedOut bool   `json:"timed_out"` // the job's limit ended it
	Failure  string `json:"failure"`   // why the command could not be started or the guest not be set up; empty if it was
	// BootNanos is the guest's time from power-on to the command, RunNanos from there to its end.
	BootNanos int64 `json:"boot_nanos"`
	RunNanos  int64 `json:"run_nanos"`
}

// Kind is the kind of a frame's payload.
type Kind uint8

// Kinds of frames.
const (
	KindUnspecified Kind = iota
	KindHello            // Version, one byte; the first frame
	KindStdout           // bytes of the command's stdout
	KindStderr           // bytes of the command's stderr
	KindFile             // FileHeader as JSON: evidence begins
	KindData             // bytes of the file last begun
	KindFileEnd          // the file last begun is complete
	KindNote             // text for whoever runs the machine
	KindExit             // Exit as JSON; the last frame
	kindEnd
)

// FileHeader begins a piece of evidence.
type FileHeader struct {
	Name string `json:"name"` // relative, slashes
	Mode uint32 `json:"mode"` // permission bits
	Size int64  `json:"size"` // when the guest opened it; the data may be shorter or longer
}

// MaxPayload bounds a frame's payload, bytes.
const MaxPayload = 64 << 10

// headerSize is the size of a frame's header: magic, kind, length, CRC-32 of the payload.
const headerSize = 1 + 1 + 4 + 4

const frameMagic = 0xA5

// Errors of a malformed stream.
var (
	ErrCorrupt = errors.New("the stream from the guest is corrupt")
	ErrVersion = errors.New("guest and host are of different versions; build both from the same sources (go generate ./deploy/vm)")
)

// Frame is one message of the guest.
type Frame struct {
	Kind    Kind
	Payload []byte
}

// Append appends the frame to buf. The payload must not be longer than MaxPayload.
func Append(buf []byte, f Frame) ([]byte, error) {
	if len(f.Payload) > MaxPayload {
		return nil, fmt.Errorf("frame of %d bytes, at most %d fit", len(f.Payload), MaxPayload)
	}
	if f.Kind == KindUnspecified || f.Kind >= kindEnd {
		return nil, fmt.Errorf("frame of unknown kind %d", f.Kind)
	}
	buf = append(buf, frameMagic, byte(f.Kind))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(f.Payload)))
	buf = binary.BigEndian.AppendUint32(buf, crc32.ChecksumIEEE(f.Payload))
	return append(buf, f.Payload...), nil
}

// Read reads one frame. It returns io.EOF when the stream ends between frames, and ErrCorrupt (wrapped) for anything that is not a
// frame.
func Read(r io.Reader) (Frame, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return Frame{}, fmt.Errorf("%w: it ends within a frame's header", ErrCorrupt)
		}
		return Frame{}, err
	}
	kind, size := Kind(header[1]), binary.BigEndian.Uint32(header[2:])
	if header[0] != frameMagic || kind == KindUnspecified || kind >= kindEnd {
		return Frame{}, fmt.Errorf("%w: no frame begins with % x", ErrCorrupt, header)
	}
	if size > MaxPayload {
		return Frame{}, fmt.Errorf("%w: a frame of %d bytes, at most %d are allowed", ErrCorrupt, size, MaxPayload)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return Frame{}, fmt.Errorf("%w: it ends within a frame", ErrCorrupt)
		}
		return Frame{}, err
	}
	if crc32.ChecksumIEEE(payload) != binary.BigEndian.Uint32(header[6:]) {
		return Frame{}, fmt.Errorf("%w: checksum of a frame of kind %d", ErrCorrupt, kind)
	}
	return Frame{Kind: kind, Payload: payload}, nil
}

// Encode returns v as JSON; the types of this package can always be encoded.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("wire: %T cannot be encoded: %v", v, err))
	}
	return data
}
