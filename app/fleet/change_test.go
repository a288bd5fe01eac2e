package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Runners are scaled within their bounds, drained off a node and everywhere, and get another version; they run no trials here.
func TestScaleDrainUpgrade(t *testing.T) {
	s := newSite(t, "  - {name: plain, min: 1, max: 3, drain: 5s, resources: {disk: 200}}\n")
	s.run("fleet", "package", "-o", s.web)
	s.run("fleet", "up", s.file, "--put-secrets")
	require.Len(t, s.nodes("test-plain"), 1)
	_, err := s.try("fleet", "scale", s.file, "4")
	require.ErrorContains(t, err, "group plain: expected 1 to 3 runners")
	s.run("fleet", "scale", s.file, "3")
	require.Len(t, s.nodes("test-plain"), 3)
	s.run("fleet", "up", s.file)
	require.Len(t, s.nodes("test-plain"), 3, "what scaling chose stays")

	node := s.nodeOf("test-plain")
	_, err = s.try("fleet", "drain", s.file, "nowhere")
	require.ErrorContains(t, err, `0 nodes are called "nowhere": expected one of node1, node2, node3`)
	s.run("fleet", "drain", s.file, node.Name)
	require.NotContains(t, s.nodes("test-plain"), node.Name)
	require.Empty(t, s.processes(node, "misstep\x00runner"))
	s.run("fleet", "drain", s.file, node.Name, "--undo")

	s.binary = s.build("second")
	_, err = s.try("fleet", "upgrade", s.file)
	require.ErrorContains(t, err, "`misstep fleet package -o DIR` makes it")
	digest := s.run("fleet", "package", "-o", s.web)
	s.run("fleet", "upgrade", s.file)
	for _, j := range s.status().Jobs {
		require.Equal(t, digest, j.Package)
		require.Equal(t, j.Wanted, j.Running)
	}

	s.run("fleet", "drain", s.file)
	require.Empty(t, s.nodes("test-plain"))
	require.Len(t, s.status().Coordinators, 2)
	s.run("fleet", "down", s.file)
	s.nothingLeft()
}
