package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"misstep/deploy/vm/kernel"
)

// Check is one line of a doctor's list.
type Check struct {
	Name string
	// Mode is the mode whose machines need it; ModeUnspecified means all.
	Mode   Mode
	OK     bool
	Detail string // what was found or what is missing
	Remedy string // how to fix it; empty when OK
	// Optional: machines run without it, at a cost.
	Optional bool
}

// Doctor reports what this host offers for machines. It changes, fetches and boots nothing. home is Misstep's folder.
func Doctor(ctx context.Context, home string) []Check {
	c := Config{Home: home}
	install := "run deploy/vm/install.sh"
	checks := []Check{check("qemu", install+" or install the package qemu-system-x86", func() (string, error) {
		path, err := findQEMU()
		if err != nil {
			return "", err
		}
		return qemuVersion(ctx, path)
	})}
	checks = append(checks, checkMode(ModeShared, "virtiofsd", install+"; requires root, or a virtiofsd with --readonly",
		findVirtiofsd))
	checks = append(checks, checkMode(ModeDeterministic, "busybox", install+" or install the package busybox-static",
		func() (string, error) {
			path, _, err := findBusybox()
			return path, err
		}))
	checks = append(checks, check("guest", "run `go generate ./deploy/vm` and build again, as make does", func() (string, error) {
		if _, err := embedded.ReadFile("embedded/init"); err != nil {
			return "", fmt.Errorf("this program was built without the guest's init")
		}
		return "embedded", nil
	}))
	checks = append(checks, checkMode(ModeDeterministic, "stopped clock",
		"run `go generate ./deploy/vm` and build again, as make does, or install a C compiler", func() (string, error) {
			if _, err := embedded.ReadFile("embedded/clock.so"); err == nil {
				return "embedded", nil
			}
			if path, err := exec.LookPath("cc"); err == nil {
				return "compiled by " + path, nil
			}
			return "", fmt.Errorf("this program was built without the library that stops qemu's clock")
		}))
	checks = append(checks, check("kernel with sched_ext",
		"run `misstep vm kernel`; requires apt-get, dpkg-deb and a source of Debian's archive", func() (string, error) {
			var detail string
			for _, suite := range kernel.Suites() {
				k, ok, err := kernel.Fetcher{Cache: c.cache("kernel"), Suite: suite}.Cached()
				switch {
				case err != nil:
					return "", err
				case suite == kernel.Sid && ok:
					detail = k.Release + " (cached)"
				case ok && detail != "":
					detail += "; " + suite.String() + ": " + k.Release
				}
			}
			if detail != "" {
				return detail, nil
			}
			for _, tool := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
				if _, err := exec.LookPath(tool); err != nil {
					return "", fmt.Errorf("none is cached, and %s, which fetches one, is not installed", tool)
				}
			}
			return "none is cached; the first machine fetches Debian's", nil
		}))
	kvm := checkMode(ModeShared, "KVM", "enable nested virtualisation, or use TCG, which is 5 to 16 times slower",
		func() (string, error) {
			file, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
			if err != nil {
				return "", err
			}
			_ = file.Close()
			if have, ok := cachedProbe(c); ok {
				if !have.Works {
					return "", fmt.Errorf("%s", have.Why)
				}
				return "boots", nil
			}
			return "/dev/kvm exists; the first shared machine probes it", nil
		})
	kvm.Optional = true
	return append(checks, kvm)
}

// checkMode is check for a requirement of one mode's machines.
func checkMode(mode Mode, name, remedy string, ask func() (string, error)) Check {
	c := check(name+" (mode "+mode.String()+")", remedy, ask)
	c.Mode = mode
	return c
}

func check(name, remedy string, ask func() (string, error)) Check {
	detail, err := ask()
	if err != nil {
		return Check{Name: name, Detail: err.Error(), Remedy: remedy}
	}
	return Check{Name: name, OK: true, Detail: detail}
}
