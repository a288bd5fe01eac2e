package nomad

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCluster(t *testing.T) {
	c := Start(t, 3)
	client, err := c.Client()
	require.NoError(t, err)
	defer client.Close()
	nodes, _, err := client.Nodes().List(nil)
	require.NoError(t, err)
	require.Len(t, nodes, 3)
	require.NoError(t, c.Clients[0].PowerOff())
	pids, err := c.Clients[0].Processes()
	require.NoError(t, err)
	require.Empty(t, pids)
}
