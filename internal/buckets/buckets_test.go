package buckets

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Whatever keys come, memory is bounded, and whoever waits is forgotten after those for whom that changes nothing.
func TestBucketsAreBounded(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var b Buckets[int]
	take := func(key int) bool { return b.Of(key, now, 1, 2).AllowN(now, 1) }
	assert.True(t, take(-1))
	assert.True(t, take(-1))
	assert.False(t, take(-1))
	for key := range 3 * maxKept {
		b.Of(key, now, 1, 2) // full
		assert.LessOrEqual(t, len(b.kept), maxKept)
	}
	assert.False(t, take(-1), "not forgotten for keys whose buckets are full")
	for key := range 3 * maxKept {
		take(key)
		assert.LessOrEqual(t, len(b.kept), maxKept)
	}
	now = now.Add(time.Second)
	assert.True(t, take(-1))
}
