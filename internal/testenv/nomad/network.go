package nomad

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// network is a bridge with an address on the host, and namespaces that are connected to it, each like a machine of its own.
type network struct {
	id     string // of the names of its interfaces and namespaces
	prefix string // 10.A.B
	spaces int
}

// ip runs a command of iproute2.
func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// all runs commands until one fails.
func all(commands ...[]string) error {
	for _, c := range commands {
		if err := ip(c...); err != nil {
			return err
		}
	}
	return nil
}

func newNetwork() (*network, error) {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails, see its documentation
	n := &network{id: fmt.Sprintf("mn%x", random[:]), prefix: fmt.Sprintf("10.%d.%d", 128+random[0]%64, random[1])}
	if err := all(
		[]string{"link", "add", n.bridge(), "type", "bridge"},
		[]string{"addr", "add", n.host() + "/24", "dev", n.bridge()},
		[]string{"link", "set", n.bridge(), "up"},
	); err != nil {
		return nil, errors.Join(err, n.remove())
	}
	return n, nil
}

func (n *network) bridge() string                 { return n.id + "br" }
func (n *network) host() string                   { return n.prefix + ".1" }
func (n *network) space(i int) string             { return fmt.Sprintf("%s-%d", n.id, i) }
func (n *network) outside(i int) string           { return fmt.Sprintf("%sv%d", n.id, i) }
func (n *network) address(i int) string           { return fmt.Sprintf("%s.%d", n.prefix, 10+i) }
func (n *network) link(i int, state string) error { return ip("link", "set", n.outside(i), state) }

// add makes another namespace, numbered from 0.
func (n *network) add() (int, error) {
	i := n.spaces
	n.spaces++
	in := []string{"-n", n.space(i)}
	return i, all(
		[]string{"netns", "add", n.space(i)},
		[]string{"link", "add", n.outside(i), "type", "veth", "peer", "name", "eth0", "netns", n.space(i)},
		[]string{"link", "set", n.outside(i), "master", n.bridge()},
		[]string{"link", "set", n.outside(i), "up"},
		append(in, "link", "set", "lo", "up"),
		append(in, "addr", "add", n.address(i)+"/24", "dev", "eth0"),
		append(in, "link", "set", "eth0", "up"),
		append(in, "route", "add", "default", "via", n.host()),
	)
}

func (n *network) remove() (err error) {
	for i := range n.spaces {
		err = errors.Join(err, ip("netns", "del", n.space(i)))
	}
	return errors.Join(err, ip("link", "del", n.bridge()))
}

// checkNetwork returns why this process cannot make such networks.
func checkNetwork() error {
	n, err := newNetwork()
	if err != nil {
		return err
	}
	_, err = n.add()
	return errors.Join(err, n.remove())
}
