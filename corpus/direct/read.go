package direct

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"misstep/corpus"
)

// Open begins to read a blob and returns its size. The reader does not verify the digest. The error wraps corpus.ErrNotFound when
// there is no such blob.
func (c *Client) Open(ctx context.Context, sign Sign) (io.ReadCloser, int64, error) {
	r := c.reader(ctx, sign)
	if err := r.connect(); err != nil {
		r.cancel()
		return nil, 0, err
	}
	return r, r.size, nil
}

// OpenRange begins to read length bytes of a blob from an offset on; the blob must have them.
func (c *Client) OpenRange(ctx context.Context, sign Sign, offset, length int64) (io.ReadCloser, error) {
	r := c.reader(ctx, sign)
	r.offset, r.end = offset, offset+length
	if err := r.connect(); err != nil {
		r.cancel()
		return nil, err
	}
	return r, nil
}

func (c *Client) reader(ctx context.Context, sign Sign) *reader {
	ctx, cancel := context.WithCancel(ctx)
	return &reader{client: c, ctx: ctx, cancel: cancel, sign: sign, size: -1, end: -1, wait: c.backoff()}
}

// reader reads one blob over as many connections as it takes.
type reader struct {
	client *Client
	ctx    context.Context //nolint:containedctx // that of Open, until Close
	cancel context.CancelFunc
	sign   Sign
	wait   backoff.BackOff

	body         io.ReadCloser // nil between connections
	dog          *watchdog
	offset, size int64
	end          int64 // of what is to be read; -1 until the size is known
	fruitless    uint  // connections in a row that brought no byte
}

// connect makes a connection that continues at the offset.
func (r *reader) connect() error {
	_, err := retry(r.ctx, r.client, func() (struct{}, error) { return struct{}{}, r.attempt() })
	return err
}

func (r *reader) attempt() error {
	signed, err := r.sign(r.ctx)
	if err != nil {
		return backoff.Permanent(err)
	}
	if r.size >= 0 && signed.Size != r.size {
		return backoff.Permanent(fmt.Errorf("the blob had %d bytes, and now has %d", r.size, signed.Size))
	}
	r.size = signed.Size
	if r.end < 0 {
		r.end = r.size
	}
	if r.end > r.size {
		return backoff.Permanent(fmt.Errorf("the blob has %d bytes, fewer than %d: %w", r.size, r.end, io.ErrUnexpectedEOF))
	}
	ctx, dog, stop := r.client.watch(r.ctx)
	content, err := r.get(ctx, signed)
	if err != nil {
		stop()
		return err
	}
	r.dog = dog
	r.body = body{content, stop}
	return nil
}

func (r *reader) get(ctx context.Context, signed corpus.SignedRequest) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, signed.URL, nil)
	if err != nil {
		return nil, backoff.Permanent(secretless(err))
	}
	for name, value := range signed.Headers {
		request.Header.Set(name, value)
	}
	want := http.StatusOK
	if r.offset > 0 || r.end < r.size {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", r.offset, r.end-1))
		want = http.StatusPartialContent
	}
	response, err := r.client.http().Do(request)
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	if response.StatusCode == want {
		return response.Body, nil
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil, backoff.Permanent(fmt.Errorf("object store %s ignores the header Range", request.URL.Host))
	}
	return nil, refused(response)
}

// explain says why a request failed: by its caller, by a stall, or by itself.
func (r *reader) explain(ctx context.Context, err error) error {
	if r.ctx.Err() != nil {
		return backoff.Permanent(context.Cause(r.ctx))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return secretless(err)
}

// Read reads on, over a new connection when the last one broke.
func (r *reader) Read(p []byte) (int, error) {
	for {
		if r.offset >= r.end {
			return 0, io.EOF
		}
		if r.body == nil {
			if err := r.connect(); err != nil {
				return 0, err
			}
		}
		n, err := r.body.Read(p[:min(int64(len(p)), r.end-r.offset)])
		r.offset += int64(n)
		if n > 0 {
			r.dog.moved()
			r.fruitless = 0
		}
		if err == nil {
			return n, nil
		}
		r.disconnect()
		if n > 0 {
			return n, nil
		}
		if err := r.pause(err); err != nil {
			return 0, err
		}
	}
}

// pause waits before the next connection, unless too many have brought nothing.
func (r *reader) pause(cause error) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if r.fruitless++; r.fruitless >= r.client.tries() {
		return fmt.Errorf("%w: broke off %d times after %d of %d bytes: %w", corpus.ErrUnavailable, r.fruitless, r.offset, r.size,
			unexpected(cause))
	}
	if r.fruitless == 1 {
		r.wait.Reset()
	}
	timer := time.NewTimer(r.wait.NextBackOff())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// unexpected is io.ErrUnexpectedEOF in place of io.EOF, which would mean success.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *reader) disconnect() {
	if r.body != nil {
		_ = r.body.Close()
		r.body = nil
	}
}

// Close ends the connection.
func (r *reader) Close() error {
	r.disconnect()
	r.cancel()
	return nil
}

// body is a response's body whose Close also ends its context.
type body struct {
	io.ReadCloser
	stop func()
}

func (b body) Close() error {
	defer b.stop()
	return b.ReadCloser.Close()
}
