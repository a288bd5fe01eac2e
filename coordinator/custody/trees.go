package custody

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"misstep/corpus"
	"misstep/corpus/tree"
)

const (
	// manifests whose files are remembered: those of the JDKs and workloads that a fleet runs at a time.
	manifests = 128
	// files remembered of all manifests together, 32 bytes each and as much again for the table.
	files = 1 << 20
)

// fileSet is the set of a tree's files.
type fileSet map[corpus.Digest]struct{}

func (s fileSet) has(d corpus.Digest) bool {
	_, ok := s[d]
	return ok
}

// trees knows the files of trees.
type trees struct {
	blobs  corpus.Opener
	making singleflight.Group
	known  *lru.Cache[corpus.Digest, fileSet]
}

func newTrees(blobs corpus.Opener) *trees {
	known, err := lru.New[corpus.Digest, fileSet](manifests)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &trees{blobs: blobs, known: known}
}

// of returns the files of trees, by the digests of their manifests. What is not stored, or is no manifest, has none.
func (t *trees) of(ctx context.Context, roots map[corpus.Digest]bool) []fileSet {
	all := make([]fileSet, 0, len(roots))
	for root := range roots {
		files, ok := t.known.Get(root)
		if !ok {
			made, _, _ := t.making.Do(root.Hex(), func() (any, error) {
				return t.read(context.WithoutCancel(ctx), root), nil // others wait for it, too
			})
			files, _ = made.(fileSet)
		}
		all = append(all, files)
	}
	return all
}

func (t *trees) read(ctx context.Context, root corpus.Digest) fileSet {
	text, err := corpus.ReadAll(ctx, t.blobs, root, tree.MaxText)
	if err != nil {
		return nil // not stored yet, or the store is away
	}
	all := fileSet{}
	if m, err := tree.Parse(text); err == nil {
		for e := range m.Entries() {
			if !e.Digest.IsZero() {
				all[e.Digest] = struct{}{}
			}
		}
	}
	t.keep(root, all) // also that it is no manifest: the digest says so for ever
	return all
}

// keep remembers a tree, and forgets others while all have too many files.
func (t *trees) keep(root corpus.Digest, all fileSet) {
	t.known.Add(root, all)
	for t.known.Len() > 1 {
		sum := 0
		for _, files := range t.known.Values() {
			sum += len(files)
		}
		if sum <= files {
			return
		}
		t.known.RemoveOldest()
	}
}
