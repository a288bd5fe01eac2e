// Package sandbox starts programs of others, such as the JVM of a trial, as an ordinary user who sees little of this machine.
//
// Everything is done on one thread of this process, from which the program is then forked and which ends with it: namespaces, file
// systems, Landlock domains and seccomp filters belong to threads, not to processes. So there is no helper program between, the
// program keeps its process id, and starting it costs about a millisecond more.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Modes of a policy.
const (
	Auto   = "auto"   // confine as far as this machine can
	None   = "none"   // confine nothing; the user is changed all the same
	Strict = "strict" // refuse to run what cannot be confined completely
)

// Policy says as whom and how far confined programs of others run. The zero value confines them as far as this machine can.
type Policy struct {
	// Mode is Auto, None or Strict; empty means Auto.
	Mode string
	// User by name or number for a process that is root; empty means a user of its own for each program, else nobody.
	User string
	// AsRoot lets programs of others run as root where this process does.
	AsRoot bool
	// Read lists files and folders that programs may read, besides those that they need.
	Read []string
}

// Sandbox is what a policy comes to on this machine. Safe for concurrent use; it does not change.
type Sandbox struct {
	user     *syscall.Credential // fixed user; nil for this process's own, or for users of their own
	own      bool                // each program gets a user of its own
	spaces   bool                // namespaces of mounts, network and IPC
	landlock int                 // version of the interface that is used, 0 for none
	filter   bool                // system calls are filtered
	read     []string
	parts    []Part
}

// Part is one thing that is confined, or is not.
type Part struct {
	// Name of what is kept apart: user, files, network, processes, system calls.
	Name string
	// By says what confines it; empty if nothing does.
	By string
	// Missing says why nothing does, with the remedy.
	Missing string
}

// Parts lists what is confined and what is not.
func (s *Sandbox) Parts() []Part { return s.parts }

// OwnUsers reports whether each program gets a user of its own.
func (s *Sandbox) OwnUsers() bool { return s.own }

// String names in one line what confines programs, and what nothing does.
func (s *Sandbox) String() string {
	var all []string
	for _, p := range s.parts {
		if p.By == "" {
			all = append(all, p.Name+": not confined")
			continue
		}
		all = append(all, p.Name+": "+p.By)
	}
	return strings.Join(all, "; ")
}

// Open examines this machine. An error says what the policy asks for and this machine lacks, with the remedy.
func (p Policy) Open() (*Sandbox, error) {
	s := &Sandbox{read: p.Read}
	if err := s.chooseUser(p); err != nil {
		return nil, err
	}
	switch p.Mode {
	case "", Auto, Strict:
	case None:
		s.parts = append(s.parts, notAsked("files"), notAsked("network"), notAsked("processes"), notAsked("system calls"))
		return s, nil
	default:
		return nil, fmt.Errorf("sandbox %q: expected %s, %s or %s", p.Mode, Auto, None, Strict)
	}
	s.choose(examine())
	var gaps []error
	for _, part := range s.parts {
		if p.Mode == Strict && part.Missing != "" {
			gaps = append(gaps, fmt.Errorf("%s: %s", part.Name, part.Missing))
		}
	}
	if len(gaps) > 0 {
		return nil, fmt.Errorf("sandbox %s: %w; or use --sandbox %s, which confines the rest", Strict, errors.Join(gaps...), Auto)
	}
	return s, nil
}

func notAsked(name string) Part { return Part{Name: name, Missing: "--sandbox none asks for nothing"} }

var current struct {
	sync.Mutex
	policy  Policy
	sandbox *Sandbox // nil until it is used
}

// Use makes a policy that of this process: the command line does, before anything is started.
func Use(p Policy) {
	current.Lock()
	defer current.Unlock()
	current.policy, current.sandbox = p, nil
}

// Current is the sandbox of this process's policy: the zero one unless Use has been called. It is one for the whole process so that
// nothing that starts programs of others can forget it.
func Current() (*Sandbox, error) {
	current.Lock()
	defer current.Unlock()
	if current.sandbox == nil {
		s, err := current.policy.Open()
		if err != nil {
			return nil, err
		}
		current.sandbox = s
	}
	return current.sandbox, nil
}

// AsUser is a sandbox that only changes the user, as in a virtual machine that is a sandbox itself. It requires root.
func AsUser(uid, gid uint32) *Sandbox {
	return &Sandbox{user: &syscall.Credential{Uid: uid, Gid: gid}, parts: []Part{{Name: "user", By: fmt.Sprintf("user %d", uid)}}}
}

// choose decides what confines, from what this machine has.
func (s *Sandbox) choose(have abilities) {
	s.spaces, s.filter = have.spaces == nil, have.filter == nil
	if !s.spaces {
		s.landlock = have.landlock
	}
	const root = "run as root, with CAP_SYS_ADMIN (in a container: --privileged or --cap-add SYS_ADMIN), on Linux 5.12 or newer"
	noSpaces := ""
	if !s.spaces {
		noSpaces = fmt.Sprintf("no namespaces (%v): %s", have.spaces, root)
	}
	files, network, processes := Part{Name: "files"}, Part{Name: "network"}, Part{Name: "processes"}
	switch {
	case s.spaces:
		files.By, network.By = "mount namespace", "network namespace"
	case s.landlock > 0:
		files.By, network.Missing = fmt.Sprintf("Landlock %d", s.landlock), noSpaces
	default:
		files.Missing = noSpaces + ", or on Linux 5.13 or newer with Landlock (lsm=…,landlock)"
		network.Missing = noSpaces
	}
	switch {
	case s.own && s.spaces:
		processes.By = "own user and /proc"
	case s.landlock >= landlockSignals:
		processes.By = fmt.Sprintf("Landlock %d", s.landlock)
	default:
		processes.Missing = "programs of one user can signal each other: " + root + " and without --jvm-user, " +
			"or on Linux 6.12 or newer with Landlock"
	}
	calls := Part{Name: "system calls", By: "seccomp"}
	if !s.filter {
		calls.By, calls.Missing = "", fmt.Sprintf("no seccomp filter (%v): use a kernel with CONFIG_SECCOMP_FILTER", have.filter)
	}
	s.parts = append(s.parts, files, network, processes, calls)
}

// abilities are what this machine has; an error says why it has one not.
type abilities struct {
	spaces   error
	landlock int // version of the interface, 0 for none
	filter   error
}

var examine = sync.OnceValue(func() abilities {
	return abilities{
		spaces:   onThread((&Box{sandbox: &Sandbox{spaces: true}}).confine),
		landlock: landlockVersion(),
		filter:   onThread((&Box{sandbox: &Sandbox{filter: true}}).confine),
	}
})

// isRoot reports whether this process may become another user.
func isRoot() bool { return os.Geteuid() == 0 }
