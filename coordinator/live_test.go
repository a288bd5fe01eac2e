package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A fleet is asked to call less often while calls wait, and as before once they do not.
func TestNextCallFollowsTheStore(t *testing.T) {
	s := New(Config{SyncInterval: time.Second, LeaseTime: time.Minute})
	assert.Equal(t, time.Second, s.nextCall(s.live.waited(0)))
	for range 1000 {
		s.live.waited(500 * time.Millisecond)
	}
	assert.InDelta(t, 4, s.nextCall(s.live.waited(500*time.Millisecond)).Seconds(), 0.1)
	for range 2000 {
		s.live.waited(10 * time.Second)
	}
	assert.Equal(t, 15*time.Second, s.nextCall(s.live.waited(10*time.Second)), "leases are renewed in time")
	for range 2000 {
		s.live.waited(time.Millisecond)
	}
	assert.Equal(t, time.Second, s.nextCall(s.live.waited(time.Millisecond)))
}
