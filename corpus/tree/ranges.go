package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"misstep/corpus"
	"misstep/corpus/chunk"
)

// Ranger is a source that a file can be read from in parts, because another file here has the others.
type Ranger interface {
	// Chunks returns the chunks of a blob in order.
	Chunks(ctx context.Context, digest corpus.Digest) ([]chunk.Chunk, error)
	// OpenRange returns length bytes of a blob from an offset on. They are not verified.
	OpenRange(ctx context.Context, digest corpus.Digest, offset, length int64) (io.ReadCloser, error)
}

const (
	// minAlike is the size in bytes from which a file is worth looking for one that is alike.
	minAlike = 1 << 20
	// gap is the most bytes that are here and are read again nevertheless, to spare a request.
	gap = 128 << 10
)

// place is where a chunk is in a local file.
type place struct{ offset, size int64 }

// fetchAlike writes an entry's file to target from a local file that is alike, and reads only what that lacks from far. It says
// whether it could, and leaves the digest of the whole to be verified.
func fetchAlike(ctx context.Context, far Ranger, alike string, e Entry, target io.Writer) (done bool, err error) {
	local, err := os.Open(alike)
	if err != nil {
		return false, nil //nolint:nilerr // it would only have been quicker
	}
	defer local.Close()
	own, err := chunk.Split(local)
	if err != nil {
		return false, nil //nolint:nilerr // as above
	}
	places := map[corpus.Digest]place{}
	offset := int64(0)
	for _, c := range own {
		places[c.Digest] = place{offset, c.Size}
		offset += c.Size
	}
	chunks, err := far.Chunks(ctx, e.Digest)
	if err != nil {
		return false, nil //nolint:nilerr // an older server has no lists of chunks; another reason shows when the file is fetched
	}
	parts := plan(chunks, places)
	if total(parts) != e.Size || missing(parts) > e.Size*9/10 {
		return false, nil // hardly alike
	}
	offset = 0
	for _, p := range parts {
		from := io.NopCloser(io.NewSectionReader(local, p.offset, p.size))
		if !p.local {
			if from, err = far.OpenRange(ctx, e.Digest, offset, p.size); err != nil {
				return false, err
			}
		}
		n, err := io.Copy(target, io.LimitReader(from, p.size))
		if err = errors.Join(err, from.Close()); err != nil {
			return false, err
		}
		if n != p.size {
			return false, fmt.Errorf("a part of %d bytes has %d", p.size, n)
		}
		offset += p.size
	}
	return true, nil
}

// part is a part of a file: at an offset of a local one, or far away.
type part struct {
	local        bool
	offset, size int64
}

// plan joins neighbouring chunks to parts. What is here between two parts that are not is read again where that is little.
func plan(chunks []chunk.Chunk, places map[corpus.Digest]place) []part {
	var parts []part
	for _, c := range chunks {
		p, here := places[c.Digest]
		here = here && p.size == c.Size
		if n := len(parts); n > 0 {
			last := &parts[n-1]
			if !here && !last.local || here && last.local && last.offset+last.size == p.offset {
				last.size += c.Size
				continue
			}
			if !here && last.local && last.size <= gap && n > 1 && !parts[n-2].local {
				parts[n-2].size += last.size + c.Size
				parts = parts[:n-1]
				continue
			}
		}
		parts = append(parts, part{local: here, offset: p.offset, size: c.Size})
	}
	return parts
}

func total(parts []part) (sum int64) {
	for _, p := range parts {
		sum += p.size
	}
	return sum
}

func missing(parts []part) (sum int64) {
	for _, p := range parts {
		if !p.local {
			sum += p.size
		}
	}
	return sum
}
