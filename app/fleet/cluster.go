package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/hashicorp/nomad/api"
	"google.golang.org/grpc"

	"misstep/app"
	misstepv1 "misstep/proto/misstep/v1"
)

// Cluster is a fleet on a Nomad cluster.
type Cluster struct {
	Fleet *misstepv1.Fleet
	// Say takes lines of progress.
	Say app.Say
	// Dial are the options of connections to the fleet's coordinators, such as those that make them secure.
	Dial []grpc.DialOption

	client *api.Client
	// Poll is how often something is asked for that Nomad does not announce.
	Poll time.Duration
}

// Open connects to Nomad at the address (http://HOST:PORT); empty is NOMAD_ADDR, else a Nomad agent on this machine. Token, TLS,
// region and namespace are those of Nomad's own environment variables (NOMAD_TOKEN, NOMAD_CACERT, …); a region and namespace in the
// file come first. Nothing is asked yet.
func Open(f *misstepv1.Fleet, address string, say app.Say) (*Cluster, error) {
	config := api.DefaultConfig()
	if address != "" {
		config.Address = address
	}
	if f.GetRegion() != "" {
		config.Region = f.GetRegion()
	}
	if f.GetNamespace() != "" {
		config.Namespace = f.GetNamespace()
	}
	client, err := api.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Nomad at %s: %w; correct --nomad or NOMAD_ADDR", config.Address, err)
	}
	return &Cluster{Fleet: f, Say: say, client: client, Poll: 500 * time.Millisecond}, nil
}

// Close ends idle connections.
func (c *Cluster) Close() { c.client.Close() }

func writes(ctx context.Context) *api.WriteOptions { return (&api.WriteOptions{}).WithContext(ctx) }

// explain adds what to do to an error of Nomad's API.
func (c *Cluster) explain(action string, err error) error {
	if err == nil {
		return nil
	}
	remedy := ""
	switch {
	case forbidden(err) && os.Getenv("NOMAD_TOKEN") == "":
		remedy = "; NOMAD_TOKEN, the token for it, is not set, see docs/howto/fleet.md"
	case forbidden(err):
		remedy = "; the token in NOMAD_TOKEN lacks a capability for it, see docs/howto/fleet.md"
	case errors.As(err, new(*net.OpError)):
		remedy = "; give Nomad's address by --nomad or NOMAD_ADDR"
	}
	return fmt.Errorf("%s: Nomad at %s: %w%s", action, c.client.Address(), err, remedy)
}
