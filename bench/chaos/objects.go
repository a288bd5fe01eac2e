package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"misstep/internal/proxy/objects"
	"misstep/internal/testenv"
)

// bucket is an object store with the blobs of a run, behind a proxy that spoils its answers.
type bucket struct {
	dir   string
	proxy *objects.Proxy
	at    testenv.S3
	stop  func()
}

// newBucket starts a server on a folder.
func newBucket(dir string, seed uint64) (b *bucket, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	b = &bucket{dir: dir}
	if b.at, b.stop, err = testenv.LaunchS3(dir); err != nil {
		return nil, err
	}
	if b.proxy, err = objects.Listen(b.at.Endpoint, seed); err != nil {
		b.stop()
	}
	return b, err
}

// location is what a coordinator is given; secrets are in its environment.
func (b *bucket) location() string {
	return "s3://" + b.at.Bucket + "/hunt?endpoint=" + url.QueryEscape(b.proxy.Endpoint())
}

func (b *bucket) secrets() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + b.at.AccessKey, "AWS_SECRET_ACCESS_KEY=" + b.at.SecretKey}
}

// again kills the server and starts it after a while.
func (b *bucket) again(wait func()) (err error) {
	b.stop()
	wait()
	if b.at, b.stop, err = testenv.LaunchS3(b.dir); err != nil {
		b.stop = func() {}
		return err
	}
	return b.proxy.Upstream(b.at.Endpoint)
}

// spoil spoils between a tenth and all of the requests for a while.
func (b *bucket) spoil(x fault, wait func()) {
	b.proxy.Fail(spoiled[x.Kind], 0.1+0.9*x.Amount)
	wait()
	b.proxy.Heal()
}

// remove stops the server and removes its blobs.
func (b *bucket) remove() error {
	err := b.proxy.Close()
	b.stop()
	return errors.Join(err, os.RemoveAll(filepath.Join(b.dir, "data")))
}

// spoiled are the faults of an object store and what the proxy does for them.
var spoiled = map[kind]objects.Fault{
	objectErrors: objects.Errors, objectSlowDown: objects.SlowDown, objectReset: objects.Reset, objectCut: objects.Truncate,
	objectSlow: objects.Slow, objectExpired: objects.Expired,
}
