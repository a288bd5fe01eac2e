// Package doctor examines what this machine can do for Misstep.
package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"misstep/agent"
	"misstep/app/local"
	"misstep/deploy/jdk"
	"misstep/deploy/vm"
	"misstep/internal/capped"
	"misstep/internal/sandbox"
	"misstep/recipe"
)

// States of a diagnosis.
const (
	OK      = "ok"
	Limited = "limited" // works, with less
	Missing = "missing" // hunting cannot work
)

// Diagnosis is one thing that was examined.
type Diagnosis struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// makeHome says which catalogue `make hunt` uses, for those who have run it and wonder where its JDKs are.
const makeHome = "`make hunt` keeps its catalogue in build/home of the source tree: MISSTEP_HOME=build/home selects it"

// Examine examines the machine and the installation. say gets a line before each thing that takes seconds.
func Examine(ctx context.Context, i local.Installation, say func(format string, args ...any)) []Diagnosis {
	all := append([]Diagnosis{catalogues(i.Home)}, jdks(ctx, i, say)...)
	all = append(all, workloads(i))
	say("looking for what virtual machines need")
	all = append(all, machines(vm.Doctor(ctx, i.Home))...)
	say("starting the helper that reads recordings")
	all = append(all, profilers(ctx, i)...)
	all = append(all, isolation()...)
	return append(all, tool("gdb", "native stacks of hung JVMs", "apt-get install gdb"),
		tool("patchelf", "JDKs of other Debian suites", "apt-get install patchelf"),
		tool("apt-get", "JDKs from Debian's packages", "import JDKs from folders or archives instead"),
		cgroups(), schedExt(), btf(), perfEvents(),
		limit("open files", unix.RLIMIT_NOFILE, 1024, "ulimit -n 4096"),
		limit("processes and threads", unix.RLIMIT_NPROC, 1024, "ulimit -u 4096"),
		disk(i.Home))
}

// catalogues names the folder in which the catalogues are looked for.
func catalogues(home string) Diagnosis {
	d := Diagnosis{Name: "catalogues", State: OK, Detail: "in " + home + " (chosen by --home or MISSTEP_HOME)"}
	if _, err := os.Stat(home); err != nil {
		d.State, d.Detail, d.Remedy = Missing, "no folder "+home+" (chosen by --home or MISSTEP_HOME)", makeHome
	}
	return d
}

// jdks starts every JDK of the catalogue under the agent.
func jdks(ctx context.Context, i local.Installation, say func(format string, args ...any)) []Diagnosis {
	artefacts, err := i.Agent()
	if err != nil {
		return []Diagnosis{{"agent", Missing, err.Error(), "make agent"}}
	}
	all := []Diagnosis{{"agent", OK, artefacts.Dir, ""}}
	entries, err := i.JDKs().List()
	if err != nil {
		return append(all, Diagnosis{"JDK catalogue", Missing, err.Error(), "repair or remove " + filepath.Join(i.Home, "jdks")})
	}
	if len(entries) == 0 {
		return append(all, Diagnosis{
			"JDK catalogue", Missing, "none in " + filepath.Join(i.Home, "jdks"),
			"misstep jdk add jdk17 /usr/lib/jvm/java-17-openjdk-amd64; " + makeHome,
		})
	}
	for n, entry := range entries {
		say("starting %s under the agent, %d of %d", entry.Name, n+1, len(entries))
		d := Diagnosis{Name: "JDK " + entry.Name, State: OK, Detail: fmt.Sprintf("%s, starts under the agent", entry.Version)}
		if err := tryAgent(ctx, artefacts, filepath.Join(entry.Path, "bin", "java"), entry, i.PatchCache()); err != nil {
			d.State, d.Detail = Limited, err.Error()
			d.Remedy = "leave this JDK out of campaigns, or import it again: misstep jdk rm " + entry.Name
		}
		d.Detail += lacksJFR(entry.Path, entry.Feature)
		all = append(all, d)
	}
	return all
}

// tryAgent starts `java -version` under the agent with one check. The settings are shown, too, because on 8 the launcher prints the
// version without entering an instrumented method.
func tryAgent(ctx context.Context, a agent.Artefacts, java string, entry jdk.Entry, patchCache string) error {
	out, err := os.MkdirTemp("", "misstep-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	patch, err := agent.Prepare(ctx, a, java, entry.Feature, patchCache, entry.Digest.String())
	if err != nil {
		return err
	}
	args, err := agent.JVMArgs(a, patch, entry.Feature, agent.Options{
		Out: out, Ratio: 1,
		Checks: map[string]float64{recipe.GstAsgct: agent.StartShare},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := sandbox.Current()
	if err != nil {
		return err
	}
	box := s.Box(sandbox.Needs{Read: append(sandbox.Java(java), a.Dir, patchCache), Write: []string{out}})
	if err := box.Own(out); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, java, append(args, "-XshowSettings:locale", "-version")...)
	var output bytes.Buffer
	limited := capped.New(&output, 64<<10) // the JDK may be anybody's
	cmd.Stdout, cmd.Stderr, cmd.Dir = limited, limited, out
	// No token and no key of the caller's.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + out, "LANG=" + os.Getenv("LANG")}
	if err := box.Run(cmd); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(output.String()), "\n")
		return fmt.Errorf("java -version under the agent: %w: %s", err, line)
	}
	status, err := agent.ReadStatus(filepath.Join(out, "status.bin"))
	if err != nil {
		return err
	}
	if !status.Started {
		return fmt.Errorf("the agent did not start in %s", java)
	}
	return nil
}

func workloads(i local.Installation) Diagnosis {
	entries, err := i.Workloads().List()
	switch {
	case err != nil:
		return Diagnosis{"workloads", Missing, err.Error(), "repair or remove " + filepath.Join(i.Home, "workloads")}
	case len(entries) == 0:
		return Diagnosis{
			"workloads", Missing, "none in " + filepath.Join(i.Home, "workloads"),
			"make workloads, then misstep workload add build/workloads/NAME; " + makeHome,
		}
	}
	var renaissance int
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name, "renaissance/") {
			renaissance++
		}
	}
	d := Diagnosis{Name: "workloads", State: OK, Detail: fmt.Sprintf("%d, %d of them Renaissance's", len(entries), renaissance)}
	if renaissance == 0 {
		d.State, d.Remedy = Limited, "for Renaissance: misstep workload add renaissance --jar PATH (or --url URL --sha256 HEX)"
	}
	return d
}
