package web

import (
	"errors"
	"net/http"
	"os"
	"time"
)

const (
	// defaultPatience is how long a visitor may take to send a form, or to receive a part of an answer.
	defaultPatience = 30 * time.Second
	// maxForm bounds the bytes of a form, and partSize is the part of an answer that must be received in time. Timeouts of the
	// server would hold for whole answers, and end streams of events and long downloads.
	maxForm  = 64 << 10
	partSize = 64 << 10
)

// deadlines reads forms before they are handled, and ends the connections of visitors who are too slow: what they hold, others
// lack.
func (s *Site) deadlines(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &punctual{ResponseWriter: w, control: http.NewResponseController(w), patience: s.Patience}
		defer out.extend() // what is left is sent after this
		if r.Method == http.MethodPost {
			_ = out.control.SetReadDeadline(time.Now().Add(s.Patience)) // not by a connection that has none
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			// A form that is malformed or too long has no fields, and is refused since the secret of its page is missing.
			if err := r.ParseForm(); errors.Is(err, os.ErrDeadlineExceeded) {
				w.Header().Set("Connection", "close")
				http.Error(out, "the form took too long to arrive: send it again", http.StatusRequestTimeout)
				return
			}
			_ = out.control.SetReadDeadline(time.Time{})
		}
		next.ServeHTTP(out, r)
	})
}

// punctual is an answer each part of which must be received in time.
type punctual struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// Unwrap is for http.ResponseController.
func (p *punctual) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *punctual) extend() { _ = p.control.SetWriteDeadline(time.Now().Add(p.patience)) }

// Write implements http.ResponseWriter.
func (p *punctual) Write(text []byte) (written int, err error) {
	for len(text) > 0 && err == nil {
		var n int
		p.extend()
		n, err = p.ResponseWriter.Write(text[:min(partSize, len(text))])
		written, text = written+n, text[n:]
	}
	return written, err
}

// Flush implements http.Flusher, by which the compressor passes events on.
func (p *punctual) Flush() {
	p.extend()
	_ = p.control.Flush() // the next Write fails, too
}
