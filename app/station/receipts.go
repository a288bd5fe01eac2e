package station

import (
	"sync"

	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

// maxReceipts bounds the receipts that are remembered; a trial leaves some ten pieces of evidence.
const maxReceipts = 1 << 14

// Receipts are a coordinator's receipts for blobs that this process wrote. It is safe for concurrent use.
type Receipts struct {
	mu sync.Mutex
	// recent and earlier hold them by digest; when recent is full it becomes earlier.
	recent, earlier map[string][]byte
}

func newReceipts() *Receipts { return &Receipts{recent: map[string][]byte{}} }

func (r *Receipts) add(d corpus.Digest, receipt []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recent) >= maxReceipts/2 {
		r.recent, r.earlier = map[string][]byte{}, r.recent
	}
	r.recent[d.String()] = receipt
}

func (r *Receipts) of(digest string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if receipt, ok := r.recent[digest]; ok {
		return receipt
	}
	return r.earlier[digest]
}

// Executor returns an Executor that adds its receipt to each piece of evidence of next, if there is one.
func (r *Receipts) Executor(next runner.Executor) runner.Executor {
	return runner.Amend(next, func(o *misstepv1.Outcome) {
		for _, e := range o.GetEvidence() {
			e.Receipt = r.of(e.GetDigest())
		}
	})
}
