package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"misstep/internal/capped"
	"misstep/internal/filelock"
	"misstep/internal/sandbox"
)

// prepareLimit bounds the generation of a patch jar, which takes about a second on an idle machine.
const prepareLimit = 2 * time.Minute

// Prepare returns the path of the patch jar for one JDK: its own java.lang.Thread with one more field, and the runtime class. The
// jar is generated once, on that JDK, into cacheDir under a name with the digests of JDK and agent, and moved into place
// atomically: concurrent callers may both generate it, but none sees an incomplete one. java is the path of the launcher.
func Prepare(ctx context.Context, a Artefacts, java string, feature int, cacheDir, jdkDigest string) (string, error) {
	if a.Digest == "" || jdkDigest == "" {
		return "", fmt.Errorf("prepare the agent for %s: the digest of the agent or of the JDK is missing", java)
	}
	cacheDir, err1 := filepath.Abs(cacheDir)
	jar, err2 := filepath.Abs(a.Jar) // the launcher runs in another folder
	if err := errors.Join(err1, err2); err != nil {
		return "", fmt.Errorf("prepare the agent: %w", err)
	}
	name := fmt.Sprintf("jdk%d-%s-%s.jar", feature, short(jdkDigest), short(a.Digest))
	target := filepath.Join(cacheDir, name)
	if info, err := os.Stat(target); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		return target, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return "", fmt.Errorf("prepare the agent: make the cache folder: %w", err)
	}
	work, unlock, err := filelock.Folder(cacheDir, workPattern)
	if err != nil {
		return "", fmt.Errorf("prepare the agent: %w", err)
	}
	defer unlock()
	defer os.RemoveAll(work)
	s, err := sandbox.Current()
	if err != nil {
		return "", fmt.Errorf("prepare the agent: %w", err)
	}
	// The JDK may be anybody's: what it makes belongs to its user, and is copied.
	out := filepath.Join(work, "out")
	box := s.Box(sandbox.Needs{Write: []string{out}, Read: append(sandbox.Java(java), jar)})
	if err := errors.Join(os.Chmod(work, 0o711), os.Mkdir(out, 0o700), box.Own(out)); err != nil {
		return "", fmt.Errorf("prepare the agent: %w", err)
	}
	made, fresh := filepath.Join(out, "patch.jar"), filepath.Join(work, "patch.jar")
	ctx, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, java, "-cp", jar, "misstep.agent.Patch", made)
	// The caller's JAVA_TOOL_OPTIONS would load agents into this helper JVM too.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + out, "LANG=C.UTF-8"}
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var output bytes.Buffer
	limited := capped.New(&output, 64<<10) // the JDK may be anybody's
	cmd.Stdout, cmd.Stderr = limited, limited
	if err := box.Run(cmd); err != nil {
		return "", fmt.Errorf("prepare the agent for %s: run misstep.agent.Patch: %w: %s", java, err, tail(output.Bytes(), 500))
	}
	if err := copyFile(made, fresh); err != nil {
		return "", fmt.Errorf("prepare the agent for %s: misstep.agent.Patch left no jar: %w: %s", java, err,
			tail(output.Bytes(), 500))
	}
	if err := os.Rename(fresh, target); err != nil {
		return "", fmt.Errorf("prepare the agent: %w", err)
	}
	return target, nil
}

// maxPatch bounds a patch jar in bytes, which has two classes.
const maxPatch = 16 << 20

// copyFile copies a regular file that has something in it; links are not followed.
func copyFile(from, to string) error {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > maxPatch {
		return fmt.Errorf("%s is empty, too large or no file", from)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxPatch))
	return errors.Join(err, out.Close())
}

// workPattern names the folders in which patch jars are made, in that of the finished ones.
const workPattern = ".patch-*"

// Sweep removes what killed processes left in the folder of patch jars while they made one.
func Sweep(cacheDir string) error { return filelock.Sweep(cacheDir, workPattern) }

// short returns the first 16 hex digits of a digest, safe as part of a file name.
func short(digest string) string {
	hexPart := strings.TrimPrefix(digest, "sha256:")
	var b strings.Builder
	for _, r := range hexPart {
		if b.Len() < 16 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// tail returns the last limit bytes of output in one line.
func tail(output []byte, limit int) string {
	if len(output) > limit {
		output = output[len(output)-limit:]
	}
	return strings.Join(strings.Fields(string(output)), " ")
}
