package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7"

	"misstep/corpus"
)

// checkTime bounds CheckSigned.
const checkTime = 30 * time.Second

// probeDir below the prefix has the objects of CheckSigned, which are no blobs: others may look whether there are any.
const probeDir = "probe"

// CheckSigned tries whether the object store honours what SignWrite signs. If it does not, whoever holds a signed request could
// store other bytes than were announced, and the error says so.
func (s *Store) CheckSigned(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := s.checkSigned(ctx); err != nil {
		return fmt.Errorf("try a signed upload to bucket %s: %w", s.bucket, err)
	}
	return nil
}

func (s *Store) checkSigned(ctx context.Context) (err error) {
	name := rand.Text()
	right, wrong := []byte("right "+name), []byte("wrong "+name)
	digest, key := corpus.DigestBytes(right), s.key(probeDir+"/"+name)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
		defer cancel()
		err = errors.Join(err, explained(s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{})))
	}()
	signed, err := s.signWrite(ctx, key, digest, int64(len(right)))
	if err != nil {
		return err
	}
	switch status, _, err := answer(ctx, signed, wrong); {
	case err != nil:
		return err
	case status < http.StatusMultipleChoices:
		return errors.New("the object store accepts bytes that do not have the signed SHA-256 (x-amz-checksum-sha256): " +
			"use a newer version of it, or another one")
	}
	switch status, text, err := answer(ctx, signed, right); {
	case err != nil:
		return err
	case status == http.StatusPreconditionFailed: // it is there: the answer to an earlier attempt was lost
		return nil
	case status >= http.StatusMultipleChoices:
		return fmt.Errorf("the object store answers %s: %.300s", http.StatusText(status), text)
	}
	return nil
}

// passing are refusals that say nothing about the request.
var passing = []int{http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict}

// answer makes a signed request with data until the object store itself answers: an error of a store that is overloaded, or of what
// is in front of it, says nothing about what it accepts.
func answer(ctx context.Context, signed corpus.SignedRequest, data []byte) (status int, text []byte, err error) {
	_, err = backoff.Retry(ctx, func() (done struct{}, err error) {
		status, text, err = send(ctx, signed, data)
		switch {
		case err != nil:
		case status >= http.StatusInternalServerError, slices.Contains(passing, status),
			bytes.Contains(text, []byte("IncompleteBody")):
			err = fmt.Errorf("the object store answers %d %s: %.300s", status, http.StatusText(status), text)
		}
		return done, err
	}, backoff.WithMaxElapsedTime(0))
	if err != nil {
		err = fmt.Errorf("%w: %w", corpus.ErrUnavailable, err)
	}
	return status, text, err
}

// send makes a signed request with data.
func send(ctx context.Context, signed corpus.SignedRequest, data []byte) (status int, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, signed.URL, bytes.NewReader(data))
	if err != nil {
		return 0, nil, errors.New("the signed URL is malformed")
	}
	for name, value := range signed.Headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("no answer from %s: %w", request.URL.Host, errors.Unwrap(err)) // the URL is a secret
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, 64<<10))
	return response.StatusCode, text, err
}
