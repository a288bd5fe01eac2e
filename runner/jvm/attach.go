package jvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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
	defer os.Remove(socketOf(t.jvm.PID())) // a killed JVM leaves it
	ctx, cancel := context.WithTimeout(ctx, 2*attachTimeout)
	defer cancel()
	quit := func() { t.jvm.Signal(syscall.SIGQUIT) }
	_, err := ask(ctx, t.jvm.PID(), quit, "jcmd", "Thread.dump_to_file -overwrite -format=json "+file)
	var dump []byte
	if err == nil {
		dump, err = t.readFile(filepath.Join(dirTemp, fileThreads), maxThreadFile)
	}
	if err != nil {
		t.executor.Logger.WarnContext(ctx, "no dump of virtual threads; going on without", "scratch", t.name, "error", err)
	}
	return dump
}

// socketOf is where a JVM listens; it may have a /tmp of its own.
func socketOf(pid int) string { return fmt.Sprintf("/proc/%d/root%s", pid, scratch.Socket(pid)) }

// ask runs an operation in a JVM by the attach protocol of HotSpot (jdk.attach's VirtualMachineImpl, attachListener.cpp): a file
// .attach_pid in the JVM's working folder and SIGQUIT make it listen at a socket, which takes the version, the name of the
// operation and three arguments, each ended by a zero byte, and answers with a line with the result, 0 for success, and a message.
// It waits for the answer until the context ends.
func ask(ctx context.Context, pid int, quit func(), operation string, args ...string) (string, error) {
	place, name := filepath.Split(socketOf(pid))
	folder, err := unix.Open(place, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("attach to JVM %d: %w", pid, err)
	}
	defer unix.Close(folder)
	conn, err := attach(ctx, pid, func(ctx context.Context) (net.Conn, error) { return connect(ctx, folder, name) }, quit)
	if err != nil {
		return "", fmt.Errorf("attach to JVM %d: %w", pid, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	three := make([]string, 3)
	copy(three, args)
	if _, err := fmt.Fprintf(conn, "1\x00%s\x00%s\x00", operation, strings.Join(three, "\x00")); err != nil {
		return "", fmt.Errorf("send %s to JVM %d: %w", operation, pid, err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("wait for the answer of JVM %d to %s: %w", pid, operation, err)
	}
	result, text, _ := strings.Cut(string(answer), "\n")
	if result != "0" {
		return "", fmt.Errorf("JVM %d to %s: result %.20q, %.200q", pid, operation, result, text)
	}
	return text, nil
}

// connect connects to the socket of a JVM in a folder, which is the JVM's own /tmp or one for all: a link there, which may lead to
// the socket of another program of this host, is not followed.
func connect(ctx context.Context, folder int, name string) (net.Conn, error) {
	fd, err := unix.Openat(folder, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("%s is no socket: %w", name, unix.ENOTSOCK)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
}

// attach connects to a JVM, which it makes listen first.
func attach(
	ctx context.Context, pid int, connect func(context.Context) (net.Conn, error), quit func(),
) (net.Conn, error) {
	if conn, err := connect(ctx); err == nil {
		return conn, nil
	}
	trigger, err := makeTrigger(pid)
	if err != nil {
		return nil, err
	}
	defer os.Remove(trigger)
	quit()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(attachTimeout)
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline:
			return nil, fmt.Errorf("it has not begun to listen within %v: it may be stopped, or still be starting", attachTimeout)
		case <-poll.C:
			if conn, err := connect(ctx); err == nil {
				return conn, nil
			}
		}
	}
}

// makeTrigger makes the file for which a JVM looks at SIGQUIT: in its working folder or, where that cannot be written to, in /tmp.
func makeTrigger(pid int) (trigger string, err error) {
	for _, folder := range []string{"cwd", "root/tmp"} {
		trigger = fmt.Sprintf("/proc/%d/%s/.attach_pid%d", pid, folder, pid)
		var file *os.File
		// The JVM's user owns the folder: a link that it may have left there is not followed.
		if file, err = os.OpenFile(trigger, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			return trigger, file.Close()
		}
		if !errors.Is(err, syscall.EROFS) && !errors.Is(err, os.ErrPermission) {
			break
		}
	}
	return "", err
}
