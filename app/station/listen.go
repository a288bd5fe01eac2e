package station

import (
	"fmt"
	"net"
)

// Door is how a coordinator lets its callers in.
type Door struct {
	// TLS means that connections are secure.
	TLS bool
	// Authenticates means that callers say who they are, with what must not be overheard.
	Authenticates bool
	// PlainTextNetwork allows plain text beyond this host.
	PlainTextNetwork bool
}

// CheckListen returns an error unless a coordinator with this door may listen on an address HOST:PORT: without TLS only this host
// may reach it, where nothing else was said.
func (d Door) CheckListen(address string) error {
	at, err := net.ResolveTCPAddr("tcp", address)
	switch {
	case err != nil:
		return fmt.Errorf("listen on %s: %w; choose another --listen", address, err)
	case d.TLS || at.IP.IsLoopback():
		return nil
	case d.Authenticates:
		return fmt.Errorf("--listen %s can be reached from other machines, and callers would show their credentials in plain "+
			"text: give --tls-cert and --tls-key (`misstep pki` makes both), or listen on 127.0.0.1", address)
	case d.PlainTextNetwork:
		return nil
	}
	return fmt.Errorf("--listen %s can be reached from other machines, and the coordinator has no TLS: give --tls-cert and "+
		"--tls-key (`misstep pki` makes both), listen on 127.0.0.1, or say --plain-text-network if everybody who can reach it may "+
		"read, change and overhear everything", address)
}
