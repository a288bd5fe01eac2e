// Package custody decides which blobs a runner may read and write, where runners authenticate and are not trusted with everything.
//
// A runner reads what its leases need: the trees of their JDKs, workloads and agents. It writes evidence while it holds leases, as
// much as their limits allow, and gets a receipt for each blob, without which no outcome may name it. Nothing tells it whether any
// other blob exists.
package custody

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/coordinator/plausible"
	"misstep/coordinator/store"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// fresh is how long what an owner held is good for reading and writing more: its leases may have ended meanwhile.
	fresh = time.Minute
	// again is the least time between two questions to the store about one owner, however often it asks.
	again = time.Second
	// owners whose leases are remembered; others are asked for again.
	owners = 4096
)

// MayRead reports whether the caller of a call reads any blob whose digest it knows, as a viewer of the call's project does. Others
// read what their leases need.
func MayRead(ctx context.Context) bool {
	c := access.From(ctx)
	return c.Kind == access.Local || c.May(misstepv1.Role_ROLE_VIEWER, access.Project(ctx))
}

// MayWrite reports whether the caller of a call writes any blob. Others write evidence, and need receipts for it.
func MayWrite(ctx context.Context) bool {
	c, project := access.From(ctx), access.Project(ctx)
	return c.Kind == access.Local || c.May(misstepv1.Role_ROLE_HUNTER, project) || c.May(misstepv1.Role_ROLE_TRIAGER, project)
}

// Guard knows what the leases of each owner allow. It is safe for concurrent use.
type Guard struct {
	leases func(ctx context.Context, owner string) ([]*store.Lease, error)
	clock  func() time.Time
	trees  *trees
	// unclaimed bounds what owners write beside what their outcomes name.
	unclaimed *Unclaimed
	held      *lru.Cache[string, *holding]
	mu        sync.Mutex // for adding to held
}

// NewGuard returns a guard. leases returns those that an owner's runners hold now; blobs has the manifests of their trees.
func NewGuard(
	leases func(ctx context.Context, owner string) ([]*store.Lease, error), blobs corpus.Opener, clock func() time.Time,
	unclaimed *Unclaimed,
) *Guard {
	held, err := lru.New[string, *holding](owners)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &Guard{leases: leases, clock: clock, trees: newTrees(blobs), unclaimed: unclaimed, held: held}
}

// holding is what an owner's leases allow.
type holding struct {
	mu    sync.Mutex
	asked time.Time // of the store
	// roots are the manifests of the trees that its leases need.
	roots map[corpus.Digest]bool
	// leases by id, and what they allow altogether.
	leases map[string]bool
	most   plausible.Evidence
	// left of what its leases have allowed so far.
	left plausible.Evidence
}

func (g *Guard) holding(owner string) *holding {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, ok := g.held.Get(owner)
	if !ok {
		h = &holding{}
		g.held.Add(owner, h)
	}
	return h
}

// ask brings a holding up to date. It waits rather than asking the store too often. The caller holds h.mu.
func (g *Guard) ask(ctx context.Context, owner string, h *holding) error {
	if pause := again - g.clock().Sub(h.asked); !h.asked.IsZero() && pause > 0 {
		t := time.NewTimer(min(pause, again))
		defer t.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	all, err := g.leases(ctx, owner)
	if err != nil {
		return err
	}
	before := h.leases
	h.asked, h.roots, h.leases, h.most = g.clock(), map[corpus.Digest]bool{}, map[string]bool{}, plausible.Evidence{}
	for _, l := range all {
		h.leases[l.ID] = true
		r := l.Recipe
		for _, text := range []string{r.GetJdk().GetDigest(), r.GetWorkload().GetDigest(), r.GetAgentDigest()} {
			if d, err := corpus.ParseDigest(text); err == nil {
				h.roots[d] = true
			}
		}
		a := plausible.Allowance(l.Recipe)
		h.most.Blobs, h.most.Bytes = h.most.Blobs+a.Blobs, h.most.Bytes+a.Bytes
		if !before[l.ID] {
			h.left.Blobs, h.left.Bytes = h.left.Blobs+a.Blobs, h.left.Bytes+a.Bytes
		}
	}
	h.left.Blobs, h.left.Bytes = min(h.left.Blobs, h.most.Blobs), min(h.left.Bytes, h.most.Bytes)
	return nil
}

// ReadsOf returns those of some blobs that an owner's leases need, in order.
func (g *Guard) ReadsOf(ctx context.Context, owner string, digests []corpus.Digest) ([]corpus.Digest, error) {
	h := g.holding(owner)
	h.mu.Lock()
	defer h.mu.Unlock()
	needed := func() (found []corpus.Digest) {
		trees := g.trees.of(ctx, h.roots)
		for _, d := range digests {
			if h.roots[d] || slices.ContainsFunc(trees, func(files fileSet) bool { return files.has(d) }) {
				found = append(found, d)
			}
		}
		return found
	}
	stale := g.clock().Sub(h.asked) > fresh
	if !stale {
		if found := needed(); len(found) == len(digests) {
			return found, nil
		}
	}
	if err := g.ask(ctx, owner, h); err != nil {
		return nil, err
	}
	return needed(), nil
}

// Begins counts another blob of an owner's. It returns a gRPC status if the owner may write none, or if that cannot be found out.
func (g *Guard) Begins(ctx context.Context, owner string) error {
	return g.take(ctx, owner, plausible.Evidence{Blobs: 1})
}

// Writes counts n bytes that an owner writes, as Begins counts blobs.
func (g *Guard) Writes(ctx context.Context, owner string, n int) error {
	return g.take(ctx, owner, plausible.Evidence{Bytes: uint64(max(0, n))})
}

func (g *Guard) take(ctx context.Context, owner string, a plausible.Evidence) error {
	h := g.holding(owner)
	h.mu.Lock()
	defer h.mu.Unlock()
	enough := func() bool { return h.left.Blobs >= a.Blobs && h.left.Bytes >= a.Bytes && len(h.leases) > 0 }
	if g.clock().Sub(h.asked) > fresh || !enough() {
		if err := g.ask(ctx, owner, h); err != nil {
			return unavailable(err)
		}
	}
	switch {
	case len(h.leases) == 0:
		return status.Errorf(codes.FailedPrecondition, "%s holds no lease, and evidence is written under one", owner)
	case !enough():
		return status.Errorf(codes.FailedPrecondition, "%s has written as much evidence as its %d leases allow, which is %s in %d "+
			"blobs (limits.disk_mib and limits.output_mib of their recipes): report their outcomes", owner, len(h.leases),
			humanize.IBytes(h.most.Bytes), h.most.Blobs)
	}
	if short := g.unclaimed.Take(owner, a.Bytes); short != nil {
		return status.Errorf(codes.FailedPrecondition, "%s: %v", owner, short)
	}
	h.left.Blobs, h.left.Bytes = h.left.Blobs-a.Blobs, h.left.Bytes-a.Bytes
	return nil
}
