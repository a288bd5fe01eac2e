// Package fleet runs a fleet of coordinators and runners on a Nomad cluster: it makes the jobs of a fleet file real, changes and
// removes them, and says how they are.
package fleet

import (
	"fmt"
	"os"

	"misstep/coordinator/campaign"
	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Load reads and validates a fleet file. The error lists everything that is wrong with it, with line numbers.
func Load(path string) (*misstepv1.Fleet, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the fleet file: %w; docs/howto/fleet.md begins with an example", err)
	}
	return Parse(text, path)
}

// Parse is Load for text that was read; name is that of the file, for messages.
func Parse(text []byte, name string) (*misstepv1.Fleet, error) {
	f := &misstepv1.Fleet{}
	if err := campaign.ParseAs(text, name, f, func() []recipe.Violation { return nomad.Validate(f) }); err != nil {
		return nil, err
	}
	return f, nil
}
