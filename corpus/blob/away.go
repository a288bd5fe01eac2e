package blob

import (
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
// it broke off.
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
	return err
}

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
