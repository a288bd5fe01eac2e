// Package capped bounds the bytes that reach a writer, so that a program that prints without end fills neither memory nor disk.
package capped

import "io"

// Writer forwards the first bytes and drops the rest. Dropping is not an error, so that the writing program does not end because of
// it. It may be used by one goroutine at a time.
type Writer struct {
	w       io.Writer
	left    int
	dropped bool
}

// New returns a Writer that forwards the first limit bytes to w.
func New(w io.Writer, limit int) *Writer { return &Writer{w: w, left: limit} }

// Write fails only with an error of the underlying writer.
func (c *Writer) Write(data []byte) (int, error) {
	n := min(len(data), max(0, c.left))
	c.left -= n
	c.dropped = c.dropped || n < len(data)
	if n > 0 {
		if _, err := c.w.Write(data[:n]); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}

// Dropped reports whether any bytes were dropped.
func (c *Writer) Dropped() bool { return c.dropped }
