package jfrcheck

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"misstep/internal/atomicfile"
	"misstep/runner/recording"
)

// What damage a recording looks like.
const (
	DamageConverted  = "text-conversion"
	DamageZeros      = "zeros"
	DamageJoined     = "joined"
	DamageCut        = "cut"
	DamageUnfinished = "unfinished"
	DamageAltered    = "altered"
)

// Damage is why a part of a recording could not be judged.
type Damage struct {
	// Kind is text-conversion, zeros, joined, cut, unfinished or altered, What that in words, with figures.
	Kind string `json:"kind"`
	What string `json:"what"`
	// Lost says that samples are missing or could not be judged; of a recording that was only not finished, all may be there.
	Lost bool `json:"lost"`
}

// Least sizes by which damage is recognised: of a run of zeros, a sector; of line ends, so many that they are not alike by chance.
const (
	leastZeros = 512
	leastLines = 64
	// mostScanned bytes of a file are looked at.
	mostScanned = 1 << 28
)

// scan is what the bytes of a file are like.
type scan struct {
	size                         int64
	lines, afterReturn           int64 // line feeds, and those after a carriage return
	invalid, replaced, multibyte int64 // as UTF-8
	zeros, zerosAt               int64 // the longest run
}

func scanned(in io.Reader) (s scan, err error) {
	r := bufio.NewReaderSize(io.LimitReader(in, mostScanned), 1<<16)
	run, last := int64(0), rune(0)
	for {
		c, width, err := r.ReadRune()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, fmt.Errorf("look what damage the recording has: %w", err)
		}
		s.size += int64(width)
		if c == 0 {
			if run++; run > s.zeros {
				s.zeros, s.zerosAt = run, s.size-run
			}
		} else {
			run = 0
		}
		switch {
		case c == '\n':
			s.lines++
			if last == '\r' {
				s.afterReturn++
			}
		case c == utf8.RuneError && width == 1:
			s.invalid++
		case c == utf8.RuneError:
			s.replaced++
		case width > 1:
			s.multibyte++
		}
		last = c
	}
}

// damageOf says what damage a recording looks like that could not be read whole. short is the number of bytes that the last chunk
// lacks by its header.
func damageOf(path string, problems []recording.Problem, starts []int64, short int64) (*Damage, error) {
	if len(problems) == 0 {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("look what damage the recording has: %w", err)
	}
	defer file.Close()
	s, err := scanned(file)
	if err != nil {
		return nil, err
	}
	const most = 1 << 12
	heads, err := recording.Heads(file, s.size, most)
	if err != nil {
		return nil, err
	}
	other := joinedAt(heads, starts, s.size)
	kinds := map[recording.ProblemKind]bool{}
	for _, p := range problems {
		kinds[p.Kind] = true
	}
	d := &Damage{Lost: true}
	switch {
	case s.converted() != "":
		d.Kind, d.What = DamageConverted, s.converted()
	case short > 0 && s.lines >= leastLines && s.afterReturn == 0 && short <= s.lines:
		d.Kind = DamageConverted
		d.What = fmt.Sprintf("a conversion of line ends took %d bytes out of it (no CR LF is left): copy it again as binary", short)
	case other > 0:
		d.Kind = DamageJoined
		d.What = fmt.Sprintf("another chunk begins at offset %d, inside of one: parts of two files in one", other)
	case s.zeros >= leastZeros:
		d.Kind = DamageZeros
		d.What = fmt.Sprintf("%s of zeros from offset %d: a copy with a hole, or a full disk", humanize.IBytes(uint64(s.zeros)),
			s.zerosAt)
	case kinds[recording.Layout] || kinds[recording.Parser]:
		d.Kind, d.What = DamageAltered, "bytes are not what the recorder wrote"
	case kinds[recording.CutFile]:
		d.Kind, d.What = DamageCut, "the file was cut off, or its writer killed"
		if short > 0 {
			d.What += fmt.Sprintf(": the last chunk has %d bytes more by its header", short)
		}
	case kinds[recording.Unfinished]:
		d.Kind, d.Lost = DamageUnfinished, false
		d.What = "the recorder did not finish the last chunk: it was killed, or still writes"
	default:
		return nil, nil // a limit of the reading
	}
	return d, nil
}

// joinedAt is the offset of the first chunk that begins inside of one, by the sizes in their headers; 0 for none.
func joinedAt(heads []recording.Head, starts []int64, size int64) int64 {
	var inside recording.Head
	for _, h := range heads {
		if h.Offset == 0 || slices.Contains(starts, h.Offset) || h.Offset == inside.Offset+inside.Bytes {
			inside = h
			continue
		}
		if !h.Copies(inside, size) {
			return h.Offset
		}
	}
	return 0
}

// converted says which conversion of text the bytes show by themselves, empty for none.
func (s scan) converted() string {
	switch {
	case s.lines >= leastLines && s.afterReturn == s.lines:
		return "a conversion of line ends put a CR before each LF: copy it again as binary"
	case s.invalid == 0 && s.replaced > 0:
		return fmt.Sprintf("a conversion to UTF-8 replaced %d characters: copy it again as binary", s.replaced)
	case s.invalid == 0 && s.multibyte >= leastLines:
		return "a conversion to UTF-8 made two bytes of one: copy it again as binary"
	}
	return ""
}

// ErrNoWholeChunk is wrapped where there is nothing to salvage.
var ErrNoWholeChunk = errors.New("no chunk is whole: nothing was written")

// canSalvage reports why a recording cannot be salvaged to a file: nothing is overwritten, the damaged recording least of all.
func canSalvage(out string) error {
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s exists: name another file to salvage to", out)
	}
	if info, err := os.Stat(filepath.Dir(out)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no folder: make it first, or name another file to salvage to", filepath.Dir(out))
	}
	return nil
}

// salvage writes the chunks of a recording that are whole to a new file, and returns how many there are.
func salvage(ctx context.Context, path, out string) (chunks int, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	list, err := recording.Whole(ctx, in, info.Size(), limits)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		return 0, ErrNoWholeChunk
	}
	err = atomicfile.WriteWith(out, func(w io.Writer) error {
		for _, e := range list {
			if _, err := io.Copy(w, io.NewSectionReader(in, e.Offset, e.Bytes)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("salvage the recording: %w", err)
	}
	return len(list), nil
}

// damageText says what share of a recording was read, and what damage it looks like.
func (r *Recording) damageText() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s of %s was read, and the rest not judged", percentOf(r.ReadBytes, r.Bytes+r.MissingBytes), r.File)
	if r.Damage != nil {
		fmt.Fprintf(&text, "; it looks as if %s", r.Damage.What)
	}
	return text.String()
}

// percentOf is a share that is 100 % only where nothing lacks, and 0 only where nothing is there.
func percentOf(part, of int64) string {
	if of <= 0 {
		return "0 %"
	}
	share := 100 * float64(part) / float64(of)
	switch {
	case part < of && share > 99.9:
		return "more than 99.9 %"
	case part > 0 && share < 0.1:
		return "less than 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", share)
}
