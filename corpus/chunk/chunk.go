// Package chunk divides blobs at places that follow from their content, so that two blobs that are alike have most chunks in
// common.
package chunk

import (
	"errors"
	"fmt"
	"io"

	"github.com/jotfs/fastcdc-go"

	"misstep/corpus"
)

// The sizes of chunks in bytes. Who sends and who compares lists of chunks must use the same ones to find any in common; with
// others nothing is found, and nothing else goes wrong. docs/figures/0015-trees-and-blobs.md has figures.
const (
	minSize     = 16 << 10
	averageSize = 64 << 10
	maxSize     = 256 << 10
)

// Chunk is a part of a blob.
type Chunk struct {
	Size   int64
	Digest corpus.Digest
}

// Split reads r until io.EOF and returns its chunks in order.
func Split(r io.Reader) ([]Chunk, error) {
	splitter, err := fastcdc.NewChunker(r, fastcdc.Options{MinSize: minSize, AverageSize: averageSize, MaxSize: maxSize})
	if err != nil {
		return nil, fmt.Errorf("divide a blob: %w", err)
	}
	var chunks []Chunk
	for {
		next, err := splitter.Next()
		if errors.Is(err, io.EOF) {
			return chunks, nil
		}
		if err != nil {
			return nil, fmt.Errorf("divide a blob: %w", err)
		}
		chunks = append(chunks, Chunk{Size: int64(len(next.Data)), Digest: corpus.DigestBytes(next.Data)})
	}
}
