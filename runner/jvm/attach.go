package jvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"misstep/runner/scratch"
)

const (
	attachTimeout = 2 * time.Second // for the JVM to listen, and again for its answer
	maxAnswer     = 64 << 10        // bytes
	fileThreads   = "thread-dump.json"
	maxThreadFile = 32 << 20 // bytes of a dump in JSON
	firstVirtual  = 21       // the JDK from which on there are virtual threads
)

// virtualThreads asks a JVM for the threads that its text dump lacks, unmounted virtual ones (jcmd Thread.dump_to_file). The JVM
// writes that file by Java code in a thread of its own, so a hung one may not answer: then it returns nil, after attachTimeout.
func (t *trial) virtualThreads(ctx context.Context) []byte {
	if t.feature < firstVirtual {
		return nil
	}
	file := t.path(dirTemp, fileThreads)
	if err := t.folder.Attaching(t.jvm.PID()); err != nil {
		t.executor.Logger.WarnContext(ctx, "no dump of virtual threads; going on without", "trial", t.name, "error", err)
		return nil
	}
	err := diagnose(ctx, t.jvm.PID(), func() { t.jvm.Signal(syscall.SIGQUIT) }, "Thread.dump_to_file -overwrite -format=json "+file)
	var dump []byte
	if err == nil {
		dump, err = t.readFile(filepath.Join(dirTemp, fileThreads), maxThreadFile)
	}
	if err != nil {
		t.executor.Logger.WarnContext(ctx, "no dump of virtual threads; going on without", "scratch", t.name, "error", err)
	}
	return dump
}

// diagnose runs a command of jcmd in a JVM by the attach protocol of HotSpot (jdk.attach's VirtualMachineImpl, attachListener.cpp):
// a file .attach_pid in the JVM's working folder and SIGQUIT make it listen at a socket, which takes the version, the name of the
// operation and three arguments, each ended by a zero byte, and answers with a line with the result, 0 for success, and a message.
func diagnose(ctx context.Context, pid int, quit func(), command string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*attachTimeout)
	defer cancel()
	socket := fmt.Sprintf("/proc/%d/root%s", pid, scratch.Socket(pid)) // a JVM may have a /tmp of its own
	conn, err := attach(ctx, pid, socket, quit)
	if err != nil {
		return fmt.Errorf("attach to JVM %d: %w", pid, err)
	}
	defer os.Remove(socket) // a killed JVM leaves it
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(attachTimeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "1\x00jcmd\x00%s\x00\x00\x00", command); err != nil {
		return fmt.Errorf("send %q to JVM %d: %w", command, pid, err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer))
	if err != nil {
		return fmt.Errorf("wait for the answer of JVM %d to %q: %w", pid, command, err)
	}
	if result, text, _ := bytes.Cut(answer, []byte("\n")); string(result) != "0" {
		return fmt.Errorf("JVM %d to %q: result %.20q, %.200q", pid, command, result, text)
	}
	return nil
}

// attach connects to a JVM, which it makes listen first.
func attach(ctx context.Context, pid int, socket string, quit func()) (net.Conn, error) {
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "unix", socket); err == nil {
		return conn, nil
	}
	trigger := fmt.Sprintf("/proc/%d/cwd/.attach_pid%d", pid, pid)
	// The JVM's user owns the folder: a link that it may have left there is not followed.
	file, err := os.OpenFile(trigger, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer os.Remove(trigger)
	if err := file.Close(); err != nil {
		return nil, err
	}
	quit()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(attachTimeout)
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline:
			return nil, errors.New("it does not listen")
		case <-poll.C:
			if conn, err := dialer.DialContext(ctx, "unix", socket); err == nil {
				return conn, nil
			}
		}
	}
}
