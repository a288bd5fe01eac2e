package web

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/app"
	"misstep/coordinator/access"
)

// codeOf is the HTTP status of an answer to a call.
var codeOf = map[codes.Code]int{
	codes.InvalidArgument: http.StatusBadRequest, codes.NotFound: http.StatusNotFound, codes.AlreadyExists: http.StatusConflict,
	codes.FailedPrecondition: http.StatusConflict, codes.Aborted: http.StatusConflict,
	codes.PermissionDenied: http.StatusForbidden, codes.Unauthenticated: http.StatusUnauthorized,
	codes.ResourceExhausted: http.StatusTooManyRequests, codes.Unavailable: http.StatusServiceUnavailable,
	codes.DeadlineExceeded: http.StatusGatewayTimeout,
}

// problem is what a page about an error shows.
type problem struct {
	Code            int
	Status, Message string
}

// fail answers with an error: what is wrong and what to do about it.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // whoever asked has gone
	}
	p := problem{Code: codeOf[status.Code(err)], Message: app.Message(err)}
	if p.Code == 0 {
		p.Code = http.StatusInternalServerError
		s.Logger.ErrorContext(r.Context(), "page", "path", r.URL.Path, "error", err)
	}
	if p.Code == http.StatusGatewayTimeout {
		p.Message = fmt.Sprintf("the coordinator did not answer within %v: it has too much to do, or does not reach its store; "+
			"try again later", maxMaking)
	}
	if wait := access.RetryIn(err); wait > 0 {
		retryAfter(w, wait)
	}
	p.Status = http.StatusText(p.Code)
	page := &page{
		template: "error", title: p.Status, data: p, json: map[string]string{"error": p.Message},
		csv: [][]string{{"error"}, {p.Message}},
	}
	if err := s.write(w, r, p.Code, page); err != nil {
		s.Logger.ErrorContext(r.Context(), "page of an error", "path", r.URL.Path, "error", err)
		http.Error(w, p.Status, p.Code)
	}
}

// retryAfter says when to come back, in whole seconds.
func retryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

func nowhere(r *http.Request) (*page, error) {
	return nil, status.Errorf(codes.NotFound, "there is no page %s: the navigation leads to all of them", r.URL.Path)
}
