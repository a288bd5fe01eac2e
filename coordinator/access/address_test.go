package access_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"misstep/coordinator/access"
)

// pipe is the address of connections inside this process.
type pipe struct{}

func (pipe) Network() string { return "bufconn" }
func (pipe) String() string  { return "bufconn" }

// For whom a call is made is believed within this process only.
func TestAddressOfVisitors(t *testing.T) {
	sent, _ := metadata.FromOutgoingContext(access.ForVisitor(t.Context(), "192.0.2.7:1"))
	from := func(a net.Addr, headers metadata.MD) string {
		return access.Address(metadata.NewIncomingContext(peer.NewContext(t.Context(), &peer.Peer{Addr: a}), headers))
	}
	assert.Equal(t, "192.0.2.7:1", from(pipe{}, sent))
	assert.Empty(t, from(pipe{}, nil))
	assert.Empty(t, from(pipe{}, metadata.Join(sent, sent)))
	outside := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 2}
	assert.Equal(t, "198.51.100.1:2", from(outside, sent), "whoever calls from outside is where the connection comes from")
	assert.Empty(t, access.Address(metadata.NewIncomingContext(t.Context(), sent)), "no connection")
}

func TestPlacesOfAddresses(t *testing.T) {
	for address, place := range map[string]string{
		"192.0.2.7:1": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8:1:2::9%eth0]:1": "2001:db8:1:2::/64",
		"name:1": "name", "": "", "192.0.2.7": "",
	} {
		assert.Equal(t, place, access.Place(address), address)
	}
}
