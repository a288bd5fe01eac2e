package station_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/station"
)

func TestPlainTextStaysOnThisHost(t *testing.T) {
	near := []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "127.1.2.3:7867"}
	far := []string{"0.0.0.0:0", ":7867", "[::]:7867", "10.0.0.1:7867", "192.168.1.2:1"}
	for _, address := range append(near, far...) {
		require.NoError(t, station.Door{TLS: true, Authenticates: true}.CheckListen(address), address)
	}
	for _, address := range near {
		require.NoError(t, station.Door{}.CheckListen(address), address)
		require.NoError(t, station.Door{Authenticates: true}.CheckListen(address), address)
	}
	for _, address := range far {
		err := station.Door{}.CheckListen(address)
		require.ErrorContains(t, err, "--listen "+address+" can be reached from other machines")
		require.ErrorContains(t, err, "--plain-text-network")
		require.NoError(t, station.Door{PlainTextNetwork: true}.CheckListen(address))
		err = station.Door{PlainTextNetwork: true, Authenticates: true}.CheckListen(address)
		require.ErrorContains(t, err, "credentials in plain text")
		assert.NotContains(t, err.Error(), "--plain-text-network", "that is no remedy here")
	}
	require.ErrorContains(t, station.Door{}.CheckListen("nowhere.invalid:1"), "choose another --listen")
}
