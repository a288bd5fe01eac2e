package testenv

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// S3 is a running S3-compatible server with an empty bucket.
type S3 struct {
	Endpoint, Bucket, AccessKey, SecretKey string
}

func s3Binary() (string, error) {
	binary := filepath.Join(Root(), "build", "tools", "versitygw")
	_, err := os.Stat(binary)
	return binary, err
}

// HasS3 reports whether StartS3 can start a server.
func HasS3() bool {
	_, err := s3Binary()
	return err == nil
}

// StartS3 starts Versity's S3 gateway on a temporary folder, for the duration of the test.
func StartS3(t testing.TB) S3 {
	t.Helper()
	binary, err := s3Binary()
	if err != nil {
		t.Skipf("no S3 server (%v); deploy/setup/install.sh test builds one", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	s := S3{Endpoint: "http://" + address, Bucket: "corpus", AccessKey: "misstep", SecretKey: "misstep-secret"}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "data", s.Bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	// The sidecar folder holds the metadata, so that the file system need not support extended attributes.
	server := exec.Command(binary, "--port", address, "--access", s.AccessKey, "--secret", s.SecretKey,
		"posix", "--sidecar", filepath.Join(dir, "meta"), filepath.Join(dir, "data"))
	if err := os.Mkdir(filepath.Join(dir, "meta"), 0o755); err != nil {
		t.Fatal(err)
	}
	server.Stdout, server.Stderr = log, log
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = log.Close()
	})
	if err := awaitListener(address); err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("the S3 server is not listening: %v\n%s", err, text)
	}
	return s
}

func awaitListener(address string) error {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return connection.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after 30 s: %w", err)
		}
	}
}
