package jvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"misstep/agent"
	"misstep/internal/filelock"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// AttachedLibrary is the name of a copy of the agent's library for one JVM that runs already: a library that was loaded before
	// would be the same one, with its state.
	AttachedLibrary = "libmisstep-attached.so"
	loadTimeout     = time.Minute // for an agent to describe all classes, code and threads of a JVM, or to end
	maxArgument     = 1024        // bytes of an argument of the attach protocol (attachListener.hpp)
)

// Attached is the agent in a JVM that ran already.
type Attached struct {
	pid     int
	dir     string
	release func() // of the lock by which the agent knows that this process lives
}

// Attach starts the recipe's agent in a JVM that runs already, with files in dir, an existing Alongside.Dir that the JVM's user
// can write to. Only what needs no instrumentation can be checked. The agent ends by Detach, by Close, and with this process.
func (e *Executor) Attach(ctx context.Context, r *misstepv1.Recipe, pid int, dir string) (*Attached, error) {
	if err := e.accepts(r); err != nil {
		return nil, err
	}
	out := filepath.Join(dir, dirAgent)
	options := agent.OptionsOf(r, out)
	if options.NeedsMethods() || options.Stacks > 0 {
		return nil, errors.New("a JVM that runs already can be checked without instrumentation only")
	}
	text, err := options.Text()
	if err != nil {
		return nil, err
	}
	if len(text) > maxArgument {
		return nil, fmt.Errorf("the agent's options are longer than the %d bytes that a JVM takes: name a folder with a shorter "+
			"path", maxArgument)
	}
	library := filepath.Join(dir, AttachedLibrary)
	data, err := os.ReadFile(e.Agent.Library)
	if err == nil {
		err = errors.Join(os.WriteFile(library, data, 0o755), os.MkdirAll(out, 0o700))
	}
	if err != nil {
		return nil, fmt.Errorf("copy the agent for JVM %d: %w", pid, err)
	}
	file, err := os.OpenFile(filepath.Join(out, agent.FileOwner), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the lock of the agent's owner: %w", err)
	}
	release, err := filelock.Wait(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	err = load(ctx, pid, library, text)
	if err == nil {
		return &Attached{pid, dir, release}, nil
	}
	release()
	if why, readErr := os.ReadFile(filepath.Join(out, fileLog)); readErr == nil && len(why) > 0 {
		return nil, fmt.Errorf("start the agent in JVM %d: %.500s", pid, strings.TrimSpace(string(why)))
	}
	return nil, err
}

// Detach ends the agent and waits for its end. The JVM continues without it.
func (a *Attached) Detach(ctx context.Context) error {
	return load(ctx, a.pid, filepath.Join(a.dir, AttachedLibrary), "stop")
}

// Close lets the agent end by itself, if it has not ended yet.
func (a *Attached) Close() { a.release() }

// load makes a JVM load a library and call its Agent_OnAttach.
func load(ctx context.Context, pid int, library, options string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	text, err := ask(ctx, pid, func() { _ = syscall.Kill(pid, syscall.SIGQUIT) }, "load", library, "true", options)
	if err != nil {
		return err
	}
	if code := strings.TrimSpace(strings.TrimPrefix(text, "return code: ")); code != "0" { // without those words on JDK 8
		return fmt.Errorf("JVM %d could not load the agent: %.300q", pid, code)
	}
	return nil
}
