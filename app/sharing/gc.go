package sharing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"misstep/app/retention"
	"misstep/app/station"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
)

// Sweep finds the blobs of a folder that no bundle, finding or trial refers to and that were neither stored nor asked for within
// grace, at least localdir.MinGrace. With remove it removes them. dir is the folder of a corpus, or of a hunt or coordinator,
// which may be running, and may have its blobs in a bucket; store is the URL of the coordinator's store, empty when it is in the
// folder.
func Sweep(ctx context.Context, dir, store string, grace time.Duration, remove bool) (swept corpus.Swept, err error) {
	if strings.Contains(dir, "://") {
		return corpus.Swept{}, fmt.Errorf("%s: only a coordinator knows which blobs of its bucket are needed; give its folder", dir)
	}
	if _, err := os.Stat(dir); err != nil {
		return corpus.Swept{}, fmt.Errorf("no corpus: %w", err)
	}
	if store != "" || station.CheckDir(dir) == nil || station.StoreElsewhere(dir) != "" {
		k, done, err := station.Keeper(ctx, dir, store, retention.Plan{Grace: grace}, nil)
		if err != nil {
			return corpus.Swept{}, err
		}
		defer func() { err = errors.Join(err, done()) }()
		_, swept, err = k.Round(ctx, remove)
		return swept, err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	hasStore := stores.InFolder(parent) == nil || station.StoreElsewhere(parent) != ""
	if station.BlobsPath(parent) == filepath.Clean(dir) && hasStore {
		return corpus.Swept{}, fmt.Errorf("%s has the blobs of the coordinator in %s, which knows what is needed: "+
			"give that folder", dir, parent)
	}
	if !index.InFolder(dir) {
		return corpus.Swept{}, fmt.Errorf("%s is no corpus: it has neither the index of one nor a coordinator's store; "+
			"give the folder of a corpus, of a hunt or of a coordinator, and --store when the coordinator has one", dir)
	}
	local, err := localdir.New(dir)
	if err != nil {
		return corpus.Swept{}, err
	}
	return retention.Sweep(ctx, nil, index.Folder(dir), local, grace, remove)
}
