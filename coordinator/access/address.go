package access

import (
	"context"
	"net"
	"net/netip"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// visitorHeader is the metadata of a call inside this process that names the address for which it is made.
const visitorHeader = "misstep-visitor"

// ForVisitor returns a context of a call that pages of this process make for a visitor at an address, host and port.
func ForVisitor(ctx context.Context, address string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, visitorHeader, address)
}

// Address returns from where a call comes, host and port: the peer's address or, inside one process, the visitor's for whom it is
// made; "" for the process itself. What others say of a visitor is not believed.
func Address(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if ok && p.Addr != nil && p.Addr.Network() != "bufconn" {
		return p.Addr.String()
	}
	if visitor := metadata.ValueFromIncomingContext(ctx, visitorHeader); ok && len(visitor) == 1 {
		return visitor[0]
	}
	return ""
}

// Place returns whose attempts at an address, host and port, count together: an IPv4 address, or the 64 bits of an IPv6 address
// that one host may choose the rest of; "" inside one process.
func Place(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}
