package catalogues

import (
	"context"
	"io"

	"misstep/corpus"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
)

// push sends the blobs of a tree that store lacks, and says how many bytes of these it has sent.
func push(ctx context.Context, store corpus.Store, dir string, m tree.Manifest, progress jdk.Progress) error {
	counted := &counting{Store: store, sizes: map[corpus.Digest]int64{}, progress: progress}
	for e := range m.Entries() {
		if !e.Digest.IsZero() {
			counted.sizes[e.Digest] = e.Size
		}
	}
	return tree.Push(ctx, counted, dir, m)
}

// counting is a corpus that reports how much of what is missing was put. It is for one goroutine.
type counting struct {
	corpus.Store
	sizes       map[corpus.Digest]int64
	progress    jdk.Progress
	sent, total int64
}

// Missing implements corpus.Source.
func (c *counting) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	missing, err := c.Store.Missing(ctx, digests)
	for _, d := range missing {
		c.total += c.sizes[d]
	}
	if err == nil && len(missing) == 0 {
		c.report("nothing to send, the coordinator has all files")
	}
	return missing, err
}

// Put implements corpus.Store.
func (c *counting) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	d, size, err := c.Store.Put(ctx, r, want)
	if _, file := c.sizes[want]; err == nil && file {
		c.sent += size
		c.report("sending what the coordinator lacks")
	}
	return d, size, err
}

func (c *counting) report(step string) {
	if c.progress != nil {
		c.progress(step, c.sent, c.total)
	}
}
