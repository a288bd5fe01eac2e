// Package sharing opens corpora by their location, exports their bundles and removes their garbage.
package sharing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"misstep/app/station"
	"misstep/coordinator/store/stores"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	"misstep/corpus/remote"
)

// LocationHelp says which locations Open accepts.
const LocationHelp = "a folder, grpc://HOST:PORT, or " + station.BucketHelp

// Open connects to the corpus at a location; a folder may be that of a hunt or coordinator. done ends the connection.
func Open(ctx context.Context, location string) (c index.Corpus, done func(), err error) {
	c, done, err = locate(ctx, location)
	if err != nil {
		return index.Corpus{}, nil, fmt.Errorf("corpus %s: %w", location, err)
	}
	return c, done, nil
}

func locate(ctx context.Context, location string) (index.Corpus, func(), error) {
	scheme, _, found := strings.Cut(location, "://")
	if !found {
		if stores.InFolder(location) == nil {
			location = station.BlobsPath(location)
		}
		store, err := localdir.New(location)
		if err != nil {
			return index.Corpus{}, nil, err
		}
		return index.Corpus{Store: store, Index: index.Folder(location)}, func() {}, nil
	}
	u, err := url.Parse(location)
	if err != nil {
		return index.Corpus{}, nil, err
	}
	switch {
	case scheme == "grpc" && u.Host != "":
		connection, err := station.Connect(u.Host)
		if err != nil {
			return index.Corpus{}, nil, err
		}
		done := func() { _ = connection.Close() }
		return index.Corpus{Store: remote.Client(connection), Index: remote.Index(connection)}, done, nil
	case scheme == "s3" && u.Host != "":
		store, err := station.OpenBucket(ctx, location)
		if err != nil {
			return index.Corpus{}, nil, err
		}
		return index.Corpus{Store: store, Index: index.Objects(store)}, func() {}, nil
	}
	return index.Corpus{}, nil, errors.New("want " + LocationHelp)
}

// Entries lists the bundles of an index in the order of their text.
func Entries(ctx context.Context, source index.Index) ([]index.Entry, error) {
	entries, err := source.Entries(ctx)
	slices.SortFunc(entries, func(a, b index.Entry) int { return strings.Compare(string(a.Text()), string(b.Text())) })
	return entries, err
}
