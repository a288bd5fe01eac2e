package sharing

import (
	"context"
	"fmt"
	"os"
	"time"

	"misstep/app/station"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
)

// Sweep finds the blobs of a folder that no bundle, finding or trial refers to and that were neither stored nor asked for within
// grace, at least localdir.MinGrace. With remove it removes them. dir is the folder of a corpus, or of a hunt or coordinator,
// which may be running; store is the URL of the coordinator's store, empty when it is in the folder.
func Sweep(ctx context.Context, dir, store string, grace time.Duration, remove bool) (localdir.Swept, error) {
	if grace < localdir.MinGrace {
		return localdir.Swept{},
			fmt.Errorf("--grace %v: want at least %v, or blobs that are being written would be taken for garbage",
				grace, localdir.MinGrace)
	}
	if _, err := os.Stat(dir); err != nil {
		return localdir.Swept{}, fmt.Errorf("no corpus: %w", err)
	}
	if store == "" && stores.InFolder(dir) == nil {
		store = dir
	}
	if store == "" && !index.InFolder(dir) {
		return localdir.Swept{}, fmt.Errorf("%s is no corpus: it has neither the index of one nor a coordinator's store; "+
			"give the folder of a corpus, of a hunt or of a coordinator, and --store when the coordinator has one", dir)
	}
	before := time.Now().Add(-grace) // taken first: what is referred to from now on is younger
	blobs := dir
	m := marker{marked: map[corpus.Digest]bool{}}
	if store != "" {
		blobs = station.BlobsPath(dir)
		if err := m.coordinator(ctx, store); err != nil {
			return localdir.Swept{}, err
		}
	}
	local, err := localdir.New(blobs)
	if err != nil {
		return localdir.Swept{}, err
	}
	entries, err := index.Folder(blobs).Entries(ctx)
	if err != nil {
		return localdir.Swept{}, err
	}
	for _, entry := range entries {
		for _, b := range entry.Blobs() {
			m.marked[b.Digest] = true
		}
	}
	if err := m.trees(ctx, local); err != nil {
		return localdir.Swept{}, err
	}
	return local.Sweep(ctx, func(d corpus.Digest) bool { return m.marked[d] }, before, remove)
}
