package main

import (
	"io"
	"os"
)

// output is standard output, and keeps the first error in writing to it.
type output struct {
	io.Writer
	failed error
}

// Write writes to standard output.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.failed == nil {
		o.failed = err
	}
	return n, err
}

// direct is what w writes to: a program that is started gets the file itself.
func direct(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.Writer
	}
	return w
}

// fileOf returns the file that w writes to, nil if it is none.
func fileOf(w io.Writer) *os.File {
	f, _ := direct(w).(*os.File)
	return f
}
