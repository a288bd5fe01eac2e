// Package sharing opens corpora by their location, exports their bundles and removes their garbage.
package sharing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"misstep/app/station"
	"misstep/coordinator/store/stores"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	"misstep/corpus/remote"
)

// LocationHelp says which locations Open accepts.
const LocationHelp = "a folder, grpc://HOST:PORT, or " + station.BucketHelp

// Location is where a corpus is.
type Location struct {
	// Text as LocationHelp says.
	Text string
	// Dial returns the options of a connection to a coordinator; nil is one in plain text.
	Dial func() ([]grpc.DialOption, error)
}

// Open connects to the corpus at a location; a folder may be that of a hunt or coordinator. done ends the connection.
func Open(ctx context.Context, l Location) (c index.Corpus, done func(), err error) {
	c, done, err = l.locate(ctx)
	if err != nil {
		return index.Corpus{}, nil, fmt.Errorf("corpus %s: %w", l.Text, err)
	}
	return c, done, nil
}

func (l Location) locate(ctx context.Context) (index.Corpus, func(), error) {
	location := l.Text
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
		connection, err := l.connect(u.Host)
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

func (l Location) connect(address string) (*grpc.ClientConn, error) {
	var options []grpc.DialOption
	if l.Dial != nil {
		var err error
		if options, err = l.Dial(); err != nil {
			return nil, err
		}
	}
	return station.ConnectWith(options, address)
}

// Entries lists the bundles of an index in the order of their text.
func Entries(ctx context.Context, source index.Index) ([]index.Entry, error) {
	entries, err := source.Entries(ctx)
	slices.SortFunc(entries, func(a, b index.Entry) int { return strings.Compare(string(a.Text()), string(b.Text())) })
	return entries, err
}
