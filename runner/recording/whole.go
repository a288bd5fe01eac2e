package recording

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// Extent is a part of a file.
type Extent struct{ Offset, Bytes int64 }

// Head is where a chunk seems to begin. JFR writes a copy of its header into each chunk, with the same Start in ticks.
type Head struct{ Offset, Bytes, Start int64 }

// Copies reports whether a head in the middle of a chunk is that chunk's own, as JFR writes it at each flush.
func (h Head) Copies(chunk Head, size int64) bool {
	return h.Start == chunk.Start && h.Offset+h.Bytes != size
}

// blockBytes of a file are searched at once.
const blockBytes = 1 << 20

// Heads returns where in a file a chunk seems to begin, in the middle of another one as well: at most so many.
func Heads(in io.ReaderAt, size int64, most int) (heads []Head, err error) {
	block := make([]byte, blockBytes+headerBytes-1)
	for at := int64(0); at < size; at += blockBytes {
		data := block[:min(int64(len(block)), size-at)]
		if _, err := in.ReadAt(data, at); err != nil && err != io.EOF {
			return nil, fmt.Errorf("search the recording for chunks: %w", err)
		}
		for from := 0; ; {
			next := bytes.Index(data[from:], chunkMagic)
			if next < 0 || from+next >= blockBytes {
				break
			}
			from += next
			if head := data[from:]; len(head) >= headerBytes && head[4] == 0 && (head[5] == 1 || head[5] == 2) && head[6] == 0 {
				h := readHeader(head)
				if heads = append(heads, Head{at + int64(from), h.size, h.startTicks}); len(heads) >= most {
					return heads, nil
				}
			}
			from++
		}
	}
	return heads, nil
}

// mostHeads of a file are tried.
const mostHeads = 1 << 16

// Whole returns the chunks of a file that are whole: finished, and readable to their end without a problem. A file in which
// something is broken has them before and behind that place.
func Whole(ctx context.Context, in io.ReaderAt, size int64, limits Limits) (list []Extent, err error) {
	heads, err := Heads(in, size, mostHeads)
	if err != nil {
		return nil, err
	}
	limits = limits.orDefaults()
	end := int64(0)
	for _, at := range heads {
		offset := at.Offset
		if ctx.Err() != nil {
			return list, ctx.Err()
		}
		if offset < end || size-offset < headerBytes {
			continue
		}
		head := make([]byte, headerBytes)
		if _, err := in.ReadAt(head, offset); err != nil {
			return nil, fmt.Errorf("read the recording: %w", err)
		}
		h := readHeader(head)
		if h.state != 0 || h.size < headerBytes || h.size > size-offset || h.size > limits.ChunkBytes {
			continue
		}
		section := io.NewSectionReader(in, offset, h.size)
		summary, err := parse(ctx, section, h.size, limits, func(Record) error { return nil })
		if err != nil {
			return nil, err
		}
		if summary.Problems == 0 && summary.Complete {
			list = append(list, Extent{offset, h.size})
			end = offset + h.size
		}
	}
	return list, nil
}
