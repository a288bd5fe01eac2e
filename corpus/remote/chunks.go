package remote

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/chunk"
	misstepv1 "misstep/proto/misstep/v1"
)

// maxLists is the number of blobs whose chunks a server remembers: about 80 KiB for the largest file of a JDK.
const maxLists = 256

// chunkLists remembers the chunks of blobs. The zero value is empty.
type chunkLists struct {
	making singleflight.Group
	mu     sync.Mutex
	lists  map[corpus.Digest][]chunk.Chunk
}

// of returns the chunks of a blob, which it reads the first time.
func (c *chunkLists) of(ctx context.Context, store corpus.Opener, d corpus.Digest) ([]chunk.Chunk, error) {
	if list, ok := c.get(d); ok {
		return list, nil
	}
	list, err, _ := c.making.Do(d.Hex(), func() (any, error) {
		blob, _, err := store.Open(context.WithoutCancel(ctx), d) // others wait for it, too
		if err != nil {
			return nil, err
		}
		defer blob.Close()
		list, err := chunk.Split(blob)
		if err == nil {
			c.put(d, list)
		}
		return list, err
	})
	if err != nil {
		return nil, err
	}
	chunks, ok := list.([]chunk.Chunk)
	if !ok {
		return nil, fmt.Errorf("chunks of %s: a %T", d, list)
	}
	return chunks, nil
}

func (c *chunkLists) get(d corpus.Digest) ([]chunk.Chunk, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, ok := c.lists[d]
	return list, ok
}

func (c *chunkLists) put(d corpus.Digest, list []chunk.Chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists == nil || len(c.lists) >= maxLists {
		c.lists = map[corpus.Digest][]chunk.Chunk{} // they are made again when they are asked for
	}
	c.lists[d] = list
}

func (s *server) ListChunks(ctx context.Context, request *misstepv1.ListChunksRequest) (*misstepv1.ListChunksResponse, error) {
	d, err := parse(request.GetDigest())
	if err != nil {
		return nil, err
	}
	list, err := s.chunks.of(ctx, s.store, d)
	if err != nil {
		return nil, toStatus(err)
	}
	response := &misstepv1.ListChunksResponse{}
	for _, c := range list {
		sum := c.Digest.Sum()
		response.Sizes = append(response.Sizes, uint32(c.Size)) // at most 256 KiB
		response.Sums = append(response.Sums, sum[:]...)
	}
	return response, nil
}

// rangeOf returns the part of a blob that a request asks for. It is not verified here: whoever receives it verifies it.
func rangeOf(blob io.Reader, request *misstepv1.ReadRequest, size int64) (io.Reader, error) {
	blob = corpus.Unverified(blob)
	offset, length := request.GetOffset(), request.GetLength()
	if offset == 0 && length == 0 {
		return blob, nil
	}
	if offset > uint64(size) || length > uint64(size)-offset { // not negative
		return nil, status.Errorf(codes.OutOfRange, "read: %d bytes from %d on, of a blob of %d", length, offset, size)
	}
	if seeker, ok := blob.(io.Seeker); ok {
		if _, err := seeker.Seek(int64(offset), io.SeekStart); err != nil {
			return nil, err
		}
	} else if _, err := io.CopyN(io.Discard, blob, int64(offset)); err != nil {
		return nil, err
	}
	if length == 0 {
		return blob, nil
	}
	return io.LimitReader(blob, int64(length)), nil
}

// Chunks returns the chunks of a blob in order.
func (c *client) Chunks(ctx context.Context, digest corpus.Digest) ([]chunk.Chunk, error) {
	response, err := c.service.ListChunks(ctx, &misstepv1.ListChunksRequest{Digest: digest.String()})
	if err != nil {
		return nil, fromStatus("list the chunks of "+digest.String(), err)
	}
	var sum [32]byte
	sums := response.GetSums()
	if len(sums) != len(sum)*len(response.GetSizes()) {
		return nil, fmt.Errorf("list the chunks of %s: %d bytes of digests for %d chunks", digest, len(sums),
			len(response.GetSizes()))
	}
	chunks := make([]chunk.Chunk, len(response.GetSizes()))
	for i, size := range response.GetSizes() {
		copy(sum[:], sums[i*len(sum):])
		chunks[i] = chunk.Chunk{Size: int64(size), Digest: corpus.DigestOf(sum)}
	}
	return chunks, nil
}

// OpenRange returns length bytes of a blob from an offset on. They are not verified.
func (c *client) OpenRange(ctx context.Context, digest corpus.Digest, offset, length int64) (io.ReadCloser, error) {
	if !c.reads.Load() {
		r, err := c.http.OpenRange(ctx, c.signRead(digest), offset, length)
		if !signsNot(&c.reads, err) {
			return r, named("open remote blob "+digest.String(), err)
		}
	}
	r, _, err := c.stream(ctx, &misstepv1.ReadRequest{
		Digest: digest.String(), Offset: uint64(max(0, offset)), Length: uint64(max(0, length)),
	})
	return r, err
}
