package triage_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/internal/hserr"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// The same crash in a release and in a fastdebug build is one finding.
func TestReleaseAndFastdebugAreOne(t *testing.T) {
	of := func(file string) *misstepv1.Signature {
		f, err := os.Open("../internal/hserr/testdata/" + file)
		require.NoError(t, err)
		defer f.Close()
		report, err := hserr.Parse(f)
		require.NoError(t, err)
		s, _ := triage.Crash(report.Crash)
		return s
	}
	release, fastdebug := of("jdk17-planted-unsafe.log"), of("jdk17-fastdebug-unsafe.log")
	require.True(t, proto.Equal(release, fastdebug), "%v and %v", release, fastdebug)
	require.False(t, proto.Equal(of("jdk17-fastdebug-assert.log"), of("jdk17-fastdebug-guarantee.log")),
		"what failed tells asserts of one function apart")
}
