package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"misstep/internal/filelock"
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
	fresh := filepath.Join(work, "patch.jar")
	ctx, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, java, "-cp", a.Jar, "misstep.agent.Patch", fresh)
	// The caller's JAVA_TOOL_OPTIONS would load agents into this helper JVM too.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "LANG=C.UTF-8"}
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the signal is sent when this thread ends, golang.org/issue/27505
	defer runtime.UnlockOSThread()
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("prepare the agent for %s: run misstep.agent.Patch: %w: %s", java, err, tail(output, 500))
	}
	if info, err := os.Stat(fresh); err != nil || info.Size() == 0 {
		return "", fmt.Errorf("prepare the agent for %s: misstep.agent.Patch left no jar: %s", java, tail(output, 500))
	}
	if err := os.Rename(fresh, target); err != nil {
		return "", fmt.Errorf("prepare the agent: %w", err)
	}
	return target, nil
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
