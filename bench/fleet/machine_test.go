package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBusy(t *testing.T) {
	assert.Equal(t, 121*10*time.Millisecond, parseBusy("cpu  1 20 100 5000 7000 0 0 0 9 9\ncpu0 1 1 1 1\n"))
	assert.Positive(t, busy())
}
