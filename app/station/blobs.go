package station

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"misstep/app/retention"
	"misstep/corpus"
	"misstep/corpus/blob"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	"misstep/corpus/overlay"
	"misstep/internal/atomicfile"
)

// BlobsPath is the folder of the corpus in the folder of a hunt or coordinator.
func BlobsPath(dir string) string { return filepath.Join(dir, "blobs") }

// bucketFile in the folder of a coordinator has the location of the bucket with its blobs, when they are in one.
const bucketFile = "blobs.url"

// Blobs is where a coordinator keeps what it stores by digest.
type Blobs struct {
	index.Corpus
	// Bucket, or nil when the blobs are in the coordinator's folder.
	Bucket *blob.Store
	// Folder, or nil when the blobs are in a bucket.
	Folder *localdir.Store
}

// Sweeper returns the part of the blobs that garbage is removed from: the bucket or the folder.
func (b Blobs) Sweeper() retention.Blobs {
	if b.Bucket != nil {
		return b.Bucket
	}
	return b.Folder
}

// OpenBlobs opens the blobs of a coordinator's folder: those in the bucket at location, which the folder notes for later, or, when
// location is empty, where they were before. Blobs that were stored in the folder earlier are read from there.
func OpenBlobs(ctx context.Context, dir, location string) (Blobs, error) {
	noted, err := Bucket(dir)
	if err != nil {
		return Blobs{}, err
	}
	if noted != "" && location != "" && noted != location {
		return Blobs{}, fmt.Errorf("the blobs of %s are in %s: start it with that --blobs, or copy the bucket's objects to %s and "+
			"write that into %s", dir, noted, location, filepath.Join(dir, bucketFile))
	}
	path := BlobsPath(dir)
	check := location != "" // not for queries, which write nothing
	if location = cmp.Or(location, noted); location == "" {
		local, err := localdir.New(path)
		if err != nil {
			return Blobs{}, err
		}
		return Blobs{Corpus: index.Corpus{Store: local, Index: index.Folder(path)}, Folder: local}, nil
	}
	if err := checkBucket(location); err != nil {
		return Blobs{}, fmt.Errorf("the bucket of %s: %w", dir, err)
	}
	bucket, err := OpenBucket(ctx, location)
	if err == nil && check {
		err = bucket.CheckSigned(ctx)
	}
	if err != nil {
		return Blobs{}, fmt.Errorf("blobs %s: %w", location, err)
	}
	if noted == "" {
		if err := atomicfile.Write(filepath.Join(dir, bucketFile), []byte(location+"\n"), 0o644); err != nil {
			return Blobs{}, fmt.Errorf("note where the blobs are: %w", err)
		}
	}
	store := corpus.Store(bucket)
	if _, err := os.Stat(path); err == nil {
		earlier, err := localdir.New(path)
		if err != nil {
			return Blobs{}, err
		}
		store = overlay.New(bucket, earlier)
	}
	return Blobs{Corpus: index.Corpus{Store: store, Index: index.Objects(bucket)}, Bucket: bucket}, nil
}

// Bucket returns the location of the bucket with the blobs of a coordinator's folder; empty when they are in the folder.
func Bucket(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, bucketFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find out where the blobs are: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// BucketHelp says which locations OpenBucket accepts.
const BucketHelp = "s3://BUCKET/PREFIX?endpoint=URL"

// OpenBucket connects to the bucket at a location, with the credentials in the environment or in ~/.aws/credentials.
func OpenBucket(ctx context.Context, location string) (*blob.Store, error) {
	if err := checkBucket(location); err != nil {
		return nil, err
	}
	u, err := url.Parse(location)
	if err != nil {
		return nil, err
	}
	endpoint := cmp.Or(u.Query().Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"),
		"https://s3.amazonaws.com")
	return blob.Open(ctx, u.Host, u.Path, blob.Options{
		Endpoint: endpoint, Region: cmp.Or(u.Query().Get("region"), os.Getenv("AWS_REGION")),
	})
}

// checkBucket returns an error, which never has the location, unless that is one of a bucket, without keys: it is written into the
// coordinator's folder, into logs and errors.
func checkBucket(location string) error {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return errors.New("want " + BucketHelp)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("its parameters are malformed: want " + BucketHelp)
	}
	endpoint, err := url.Parse(query.Get("endpoint"))
	if err != nil {
		return errors.New("its endpoint is malformed: want " + BucketHelp)
	}
	if u.User != nil || endpoint.User != nil {
		return errors.New("it has keys, which everybody would see: give them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or " +
			"in ~/.aws/credentials, and remove them from --blobs or " + bucketFile)
	}
	for name := range query {
		if name != "endpoint" && name != "region" {
			return fmt.Errorf("it has the unknown parameter %.40q: want %s, and region=NAME if need be", name, BucketHelp)
		}
	}
	return nil
}
