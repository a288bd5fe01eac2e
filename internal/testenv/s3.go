package testenv

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"misstep/internal/tied"
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
	if _, err := s3Binary(); err != nil {
		t.Skipf("no S3 server (%v); deploy/setup/install.sh test builds one", err)
	}
	s, stop, err := LaunchS3(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// LaunchS3 starts Versity's S3 gateway on the folder dir.
func LaunchS3(dir string) (s S3, stop func(), err error) { return LaunchS3At("127.0.0.1", dir) }

// LaunchS3At is LaunchS3 on an address of this host.
func LaunchS3At(host, dir string) (s S3, stop func(), err error) {
	binary, err := s3Binary()
	if err != nil {
		return s, nil, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return s, nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return s, nil, err
	}
	s = S3{Endpoint: "http://" + address, Bucket: "corpus", AccessKey: "misstep", SecretKey: "misstep-secret"}
	for _, folder := range []string{filepath.Join("data", s.Bucket), "meta"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return s, nil, err
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return s, nil, err
	}
	// The sidecar folder holds the metadata, so that the file system need not support extended attributes.
	server := exec.Command(binary, "--port", address, "--access", s.AccessKey, "--secret", s.SecretKey,
		"posix", "--sidecar", filepath.Join(dir, "meta"), filepath.Join(dir, "data"))
	server.Stdout, server.Stderr = log, log
	if err := tied.Start(server); err != nil {
		return s, nil, errors.Join(err, log.Close())
	}
	stop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = log.Close()
	}
	if err := awaitListener(address); err != nil {
		stop()
		text, _ := os.ReadFile(log.Name())
		return s, nil, fmt.Errorf("the S3 server is not listening: %w\n%s", err, text)
	}
	return s, stop, nil
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
