package blob

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/minio/minio-go/v7"

	"misstep/corpus"
)

// explained marks an error of the server after which it may work again later: it is overloaded, cannot be reached, or an answer of
// it broke off. Of a refusal it says what to check.
func explained(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	_, network := errors.AsType[net.Error](err)
	_, listing := errors.AsType[*xml.SyntaxError](err)
	code := minio.ToErrorResponse(err).StatusCode
	if network || listing || errors.Is(err, io.ErrUnexpectedEOF) || code >= 500 || code == http.StatusTooManyRequests {
		return fmt.Errorf("%w: %w", corpus.ErrUnavailable, err)
	}
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		return &refusal{err}
	}
	return err
}

// refusal is an answer that the credentials may not do something.
type refusal struct{ err error }

// Error says what was refused, and the remedy.
func (r *refusal) Error() string {
	answer := minio.ToErrorResponse(r.err)
	return fmt.Sprintf("the object store refuses it (%s: %s): check the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "+
		"or ~/.aws/credentials) and that they may read, write, list and delete in the bucket %s", cmp.Or(answer.Code, "no code"),
		cmp.Or(answer.Message, "no reason"), answer.BucketName)
}

// Unwrap returns the answer.
func (r *refusal) Unwrap() error { return r.err }

// explaining explains the errors of reading an object.
type explaining struct{ io.ReadCloser }

func (e explaining) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	return n, explained(err)
}

// notThere reports whether an error means that the object is absent.
func notThere(err error) bool {
	return err != nil && minio.ToErrorResponse(err).StatusCode == http.StatusNotFound
}
