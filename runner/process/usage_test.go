package process

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files without a name take space, too, once each however many processes have them open.
func TestUnlinkedFilesCount(t *testing.T) {
	dir := t.TempDir()
	s := spec(t, dir, "exec 3>big 4>named; rm big; dd if=/dev/zero bs=65536 count=64 >&3 2>&4; cp /bin/sh named; "+
		"sleep 1000 & sleep 1000", nil)
	s.Dir = dir
	p, err := Start(s)
	require.NoError(t, err)
	var most, processes uint64
	require.Eventually(t, func() bool {
		u := p.Usage()
		most, processes = max(most, u.Unlinked), uint64(u.Processes)
		return u.Unlinked >= 4<<20 && u.Processes >= 3
	}, time.Minute, 10*time.Millisecond)
	assert.Less(t, most, uint64(5<<20), "%d processes have it open", processes)
	p.Kill()
	<-p.Done()
}
