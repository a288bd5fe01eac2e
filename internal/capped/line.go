package capped

import (
	"bufio"
	"bytes"
	"errors"
)

// ReadLine appends the next line to a buffer, without its terminator and cut to limit bytes in all; what is cut is read. The error
// is that of the reader, and what was read before it is returned as well.
func ReadLine(in *bufio.Reader, line []byte, limit int) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if room := limit - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}
