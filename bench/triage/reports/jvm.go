package reports

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// crashed runs a JVM that crashes and returns its error file.
func crashed(ctx context.Context, dir, java string, args []string) (string, error) {
	jvm := exec.CommandContext(ctx, java, args...)
	jvm.Dir = dir
	out, failure := jvm.CombinedOutput()
	text, err := os.ReadFile(filepath.Join(dir, "hs_err.log"))
	if err != nil {
		return "", fmt.Errorf("no error file: %w, %.300s", failure, out)
	}
	return compact(string(text)), nil
}

// hung starts a JVM that hangs and returns its thread dump.
func hung(ctx context.Context, dir, home, tool string, args []string) (string, error) {
	jvm := exec.CommandContext(ctx, filepath.Join(home, "bin", "java"), args...)
	jvm.Dir = dir
	pipe, write, err := os.Pipe() // standard input, which never has anything
	if err != nil {
		return "", fmt.Errorf("make a pipe: %w", err)
	}
	defer pipe.Close()
	defer write.Close()
	jvm.Stdin = pipe
	out, err := jvm.StdoutPipe()
	if err == nil {
		err = jvm.Start()
	}
	if err != nil {
		return "", fmt.Errorf("start the JVM: %w", err)
	}
	defer func() {
		_ = jvm.Process.Kill()
		_ = jvm.Wait()
	}()
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("the JVM ended before it hung: %w", err)
		}
		if line == "hung\n" {
			break
		}
	}
	time.Sleep(settleTime)
	pid := fmt.Sprint(jvm.Process.Pid)
	bin := func(name string) string { return filepath.Join(home, "bin", name) }
	ctx, cancel := context.WithTimeout(ctx, dumpTime)
	defer cancel()
	switch tool {
	case byJstack:
		return output(ctx, bin("jstack"), "-l", pid)
	case byJcmd:
		return output(ctx, bin("jcmd"), pid, "Thread.print")
	case byAgent:
		return output(ctx, bin("jhsdb"), "jstack", "--pid", pid)
	case byJSON:
		path := filepath.Join(dir, "threads.json")
		if _, err := output(ctx, bin("jcmd"), pid, "Thread.dump_to_file", "-format=json", path); err != nil {
			return "", err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the dump: %w", err)
		}
		return string(text), nil
	}
	if err := jvm.Process.Signal(syscall.SIGQUIT); err != nil {
		return "", fmt.Errorf("ask the JVM for its threads: %w", err)
	}
	var text strings.Builder
	heap := false
	for {
		line, err := lines.ReadString('\n')
		text.WriteString(line)
		heap = heap || line == "Heap\n"
		if err != nil || heap && strings.TrimSpace(line) == "" {
			return text.String(), nil
		}
	}
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return string(out), nil
}
