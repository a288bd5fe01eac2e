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
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// AttachedLibrary is the name of a copy of the agent's library for one JVM that runs already: a library that was loaded before
	// would be the same one, with its state.
	AttachedLibrary = "libmisstep-attached.so"
	loadTimeout     = time.Minute // for an agent to describe all classes, code and threads of a JVM, or to end
	maxArgument     = 1024        // bytes of an argument of the attach protocol (attachListener.hpp)
)

// Attach starts the recipe's agent in a JVM that runs already, with files in dir, an existing Alongside.Dir that the JVM's user
// can write to. Only what needs no instrumentation can be checked.
func (e *Executor) Attach(ctx context.Context, r *misstepv1.Recipe, pid int, dir string) error {
	if err := e.accepts(r); err != nil {
		return err
	}
	out := filepath.Join(dir, dirAgent)
	options := agent.OptionsOf(r, out)
	if options.NeedsMethods() || options.Stacks > 0 {
		return errors.New("a JVM that runs already can be checked without instrumentation only")
	}
	text, err := options.Text()
	if err != nil {
		return err
	}
	if len(text) > maxArgument {
		return fmt.Errorf("the agent's options are longer than the %d bytes that a JVM takes: name a folder with a shorter path",
			maxArgument)
	}
	library := filepath.Join(dir, AttachedLibrary)
	data, err := os.ReadFile(e.Agent.Library)
	if err == nil {
		err = errors.Join(os.WriteFile(library, data, 0o755), os.MkdirAll(out, 0o700))
	}
	if err != nil {
		return fmt.Errorf("copy the agent for JVM %d: %w", pid, err)
	}
	err = load(ctx, pid, library, text)
	if why, readErr := os.ReadFile(filepath.Join(out, fileLog)); err != nil && readErr == nil && len(why) > 0 {
		return fmt.Errorf("start the agent in JVM %d: %.500s", pid, strings.TrimSpace(string(why)))
	}
	return err
}

// Detach ends the agent that Attach has started. The JVM continues without it.
func Detach(ctx context.Context, pid int, dir string) error {
	return load(ctx, pid, filepath.Join(dir, AttachedLibrary), "stop")
}

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
