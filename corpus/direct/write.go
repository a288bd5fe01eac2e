package direct

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/cenkalti/backoff/v5"

	"misstep/corpus"
)

// Write writes size bytes of data as a blob. It sends nothing when the blob is stored already, which sign says by returning no
// request.
func (c *Client) Write(ctx context.Context, sign Sign, data io.ReaderAt, size int64) error {
	contradictions := 0
	_, err := retry(ctx, c, func() (struct{}, error) {
		signed, err := sign(ctx)
		switch {
		case err != nil:
			return struct{}{}, backoff.Permanent(err)
		case signed.URL == "":
			return struct{}{}, nil
		case contradictions == maxContradictions:
			return struct{}{}, backoff.Permanent(ErrContradiction)
		}
		err = c.put(ctx, signed, io.NewSectionReader(data, 0, size))
		if errors.Is(err, ErrContradiction) { // sign tells whether it is one
			contradictions++
		}
		return struct{}{}, err
	})
	return err
}

// ErrContradiction means that an object store refuses a new blob because it has it already, and does not have it. versitygw does so
// for a key whose metadata it had written when it was killed.
var ErrContradiction = errors.New("the object store refuses the blob as one that it has, and does not have it")

// maxContradictions is how often that is tried: another writer of the same blob may be about to end.
const maxContradictions = 3

func (c *Client) put(parent context.Context, signed corpus.SignedRequest, data *io.SectionReader) error {
	ctx, dog, stop := c.watch(parent)
	defer stop()
	var content io.Reader = http.NoBody // net/http must not guess the length of an empty body
	if data.Size() > 0 {
		content = &watched{data, dog}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, signed.URL, content)
	if err != nil {
		return backoff.Permanent(secretless(err))
	}
	request.ContentLength = data.Size()
	for name, value := range signed.Headers {
		request.Header.Set(name, value)
	}
	response, err := c.http().Do(request)
	switch {
	case err != nil && parent.Err() != nil:
		return backoff.Permanent(context.Cause(parent))
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return secretless(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return nil
	case http.StatusPreconditionFailed: // it is there, by an earlier attempt or by another writer of the same bytes, or said to be
		return ErrContradiction
	}
	return refused(response)
}

// watched tells a watchdog that bytes are taken.
type watched struct {
	io.Reader
	dog *watchdog
}

func (w *watched) Read(p []byte) (int, error) {
	w.dog.moved()
	return w.Reader.Read(p)
}
