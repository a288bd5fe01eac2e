package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// process is a running role.
type process struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	answer ready
}

// start starts this program in a role and waits until it is ready.
func start(ctx context.Context, name string, s settings) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	return startProgram(ctx, self, name, s)
}

// startProgram is start for a program that may be an earlier version of this one.
func startProgram(ctx context.Context, program, name string, s settings) (_ *process, err error) {
	p := &process{name: name, cmd: exec.CommandContext(ctx, program, name)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 1<<20)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	if err := errors.Join(json.NewEncoder(p.in).Encode(s), p.read(&p.answer)); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *process) read(into any) error {
	if !p.out.Scan() {
		return errors.Join(fmt.Errorf("the %s ended before it answered", p.name), p.out.Err())
	}
	if err := json.Unmarshal(p.out.Bytes(), into); err != nil {
		return fmt.Errorf("read the answer of the %s: %w", p.name, err)
	}
	return nil
}

// mark returns what the process used so far and what it measured since the last mark.
func (p *process) mark() (u usage, err error) {
	if _, err := fmt.Fprintln(p.in, commandMark); err != nil {
		return u, fmt.Errorf("ask the %s: %w", p.name, err)
	}
	return u, p.read(&u)
}

// stop ends the process and waits for its end.
func (p *process) stop() error {
	if err := errors.Join(p.in.Close(), p.cmd.Wait()); err != nil {
		return fmt.Errorf("stop the %s: %w", p.name, err)
	}
	return nil
}
