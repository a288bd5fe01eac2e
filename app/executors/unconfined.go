package executors

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"misstep/internal/sandbox"
	"misstep/runner/process"
)

// Gap is something in which programs of others are not confined on this machine.
type Gap struct{ What, Remedy string }

// Unconfined lists in what the programs that this process starts are not confined: where it is no root, or lacks capabilities.
func Unconfined() ([]Gap, error) {
	s, err := sandbox.Current()
	if err != nil {
		return nil, err
	}
	unbounded := process.DetectCgroups().Unbounded()
	if s.OwnUsers() { // RLIMIT_NPROC bounds each
		unbounded = slices.DeleteFunc(unbounded, func(what string) bool { return what == process.Tasks })
	}
	return gaps(s.Parts(), unbounded, os.Geteuid()), nil
}

// gaps of a user whose sandbox has these parts and whose control groups leave some resources unbounded.
func gaps(parts []sandbox.Part, unbounded []string, uid int) (all []Gap) {
	if uid != 0 {
		all = append(all, Gap{
			fmt.Sprintf("user: programs run as the runner's own, %d, and may ask its services by Unix sockets", uid),
			"start the runner as a system user of its own that has no session, or as root",
		})
	}
	for _, p := range parts {
		if p.Missing != "" {
			all = append(all, Gap{p.Name, p.Missing})
		}
	}
	if len(unbounded) > 0 {
		what := strings.Join(unbounded, ", ") + ": looked at twice a second, not bounded by the kernel"
		all = append(all, Gap{what, process.Unit})
	}
	return all
}
