// Package nomad starts a Nomad server, and clients that have a network namespace each, as if they were machines: they can be
// killed, started again and cut off. Root is needed.
package nomad

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/internal/testenv"
	"misstep/internal/tied"
)

// Cluster is a server and its clients. It enforces ACLs: Token may do everything.
type Cluster struct {
	// Address of the server for HTTP, http://HOST:PORT.
	Address string
	// Host is this machine's address as the clients see it.
	Host    string
	Token   string
	Clients []*Client

	dir     string
	network *network
	server  *exec.Cmd
}

// Client is one machine of a cluster.
type Client struct {
	Name string
	// Address of its network interface.
	Address string

	cluster *Cluster
	index   int
	process *exec.Cmd
}

// Check returns what stands in the way of a cluster on this machine; nil if nothing does.
func Check() error {
	if _, err := os.Stat(binary()); err != nil {
		return fmt.Errorf("no Nomad server (%w); deploy/setup/install.sh test builds one", err)
	}
	if os.Getuid() != 0 {
		return errors.New("a Nomad cluster in network namespaces needs root")
	}
	if err := checkNetwork(); err != nil {
		return fmt.Errorf("no network namespaces: %w", err)
	}
	return nil
}

// Start starts a cluster for the duration of the test, which is skipped where that cannot be.
func Start(t testing.TB, clients int) *Cluster {
	t.Helper()
	if err := Check(); err != nil {
		t.Skip(err)
	}
	c, err := New(clients)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// New starts a cluster; the caller calls Remove.
func New(clients int) (*Cluster, error) {
	c := &Cluster{}
	if err := c.start(clients); err != nil {
		return nil, errors.Join(err, errors.New(c.Logs()), c.Remove())
	}
	return c, nil
}

func (c *Cluster) start(clients int) (err error) {
	if c.dir, err = os.MkdirTemp("", "misstep-nomad-"); err != nil {
		return err
	}
	if err := os.Chmod(c.dir, 0o711); err != nil { // users of tasks pass through
		return err
	}
	if c.network, err = newNetwork(); err != nil {
		return err
	}
	c.Host = c.network.host()
	c.Address = "http://" + c.Host + ":4646"
	if err := os.WriteFile(c.path("server.hcl"), []byte(fmt.Sprintf(serverConfig, c.Host, c.path("server"))), 0o600); err != nil {
		return err
	}
	if c.server, err = c.agent("server", -1); err != nil {
		return err
	}
	if err := c.bootstrap(); err != nil {
		return err
	}
	for range clients {
		i, err := c.network.add()
		if err != nil {
			return err
		}
		client := &Client{Name: fmt.Sprintf("node%d", i+1), Address: c.network.address(i), cluster: c, index: i}
		text := fmt.Sprintf(clientConfig, client.Name, client.Address, c.path(client.Name), client.Name, c.Host, c.network.id)
		if err := os.WriteFile(c.path(client.Name+".hcl"), []byte(text), 0o600); err != nil {
			return err
		}
		c.Clients = append(c.Clients, client)
		if err := client.Start(); err != nil {
			return err
		}
	}
	return c.await("clients", func(client *api.Client) (bool, error) {
		nodes, _, err := client.Nodes().List(nil)
		ready := slices.DeleteFunc(nodes, func(n *api.NodeListStub) bool { return n.Status != api.NodeStatusReady || !driver(n) })
		return len(ready) == clients, err
	})
}

func driver(n *api.NodeListStub) bool { d := n.Drivers["raw_exec"]; return d != nil && d.Healthy }

// A client is down after about five seconds of silence.
const serverConfig = `
bind_addr = %q
data_dir = %q
log_level = "INFO"
disable_update_check = true
server {
  enabled = true
  bootstrap_expect = 1
  heartbeat_grace = "2s"
  min_heartbeat_ttl = "2s"
  failover_heartbeat_ttl = "5s"
}
acl { enabled = true }
limits {
  http_max_conns_per_client = 0
}
`

const clientConfig = `
name = %q
bind_addr = %q
data_dir = %q
log_level = "INFO"
disable_update_check = true
client {
  enabled = true
  node_class = %q
  servers = ["%s:4647"]
  network_interface = "eth0"
  cgroup_parent = %q
  cpu_total_compute = 8000
  memory_total_mb = 16384
  max_kill_timeout = "1m"
  gc_disk_usage_threshold = 99
  gc_inode_usage_threshold = 99
  options = {
    "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean"
    "driver.allowlist" = "raw_exec"
  }
}
acl { enabled = true }
plugin "raw_exec" {
  config {
    enabled = true
    # Nomad 1.6's executor of tasks crashes at their end where it cannot make a freezer group. Runners make groups of their own.
    no_cgroups = true
  }
}
`

func binary() string { return filepath.Join(testenv.Root(), "build", "tools", "nomad") }

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// agent starts an agent with the configuration of that name, in a namespace unless its index is negative.
func (c *Cluster) agent(name string, space int) (*exec.Cmd, error) {
	args := []string{binary(), "agent", "-config", c.path(name + ".hcl")}
	if space >= 0 {
		args = append([]string{"ip", "netns", "exec", c.network.space(space)}, args...)
	}
	log, err := os.OpenFile(c.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	process := exec.Command(args[0], args[1:]...)
	process.Stdout, process.Stderr = log, log
	// A group of its own: what a terminal sends to the test is not for the agents.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Nomad's variables of whoever runs the tests are for another cluster.
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "NOMAD_") {
			process.Env = append(process.Env, v)
		}
	}
	return process, tied.Start(process)
}

// bootstrap makes the token that may do everything.
func (c *Cluster) bootstrap() error {
	return c.await("server", func(client *api.Client) (bool, error) {
		token, _, err := client.ACLTokens().Bootstrap(nil)
		if err != nil {
			return false, err
		}
		c.Token = token.SecretID
		return true, nil
	})
}

// Client returns a client of Nomad's API that may do everything.
func (c *Cluster) Client() (*api.Client, error) {
	return api.NewClient(&api.Config{Address: c.Address, SecretID: c.Token})
}

// await waits until the condition holds.
func (c *Cluster) await(what string, condition func(*api.Client) (bool, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		ok, err := condition(client)
		if ok && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s of Nomad not ready after a minute: %w", what, errors.Join(err, ctx.Err()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
