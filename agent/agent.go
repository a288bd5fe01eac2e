// Package agent finds the validation agent's files, builds the JVM arguments that switch it on, and reads the flight
// record it writes.
//
// The agent is a folder with two files: libmisstep.so (native/) and misstep-agent.jar (java/). Its checks are those of the table in
// misstep/recipe, from which native/src/checks.gen.h is generated; abi.h is the other definition that it shares with the native
// side.
package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// LibraryName is the native half's file name.
	LibraryName = "libmisstep.so"
	// JarName is the Java half's file name.
	JarName = "misstep-agent.jar"
)

// Artefacts are the agent's two files; they belong together.
type Artefacts struct {
	// Dir is the folder that holds both.
	Dir string
	// Library is the path of libmisstep.so.
	Library string
	// Jar is the path of misstep-agent.jar.
	Jar string
	// Digest is "sha256:" and 64 hex digits over both files' digests: the agent's identity.
	Digest string
}

// Find looks for the agent in dir and digests it. For a missing file the error wraps fs.ErrNotExist and names the command that
// builds it.
func Find(dir string) (Artefacts, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Artefacts{}, fmt.Errorf("find the agent in %s: %w", dir, err)
	}
	a := Artefacts{Dir: abs, Library: filepath.Join(abs, LibraryName), Jar: filepath.Join(abs, JarName)}
	identity := sha256.New()
	for _, path := range []string{a.Library, a.Jar} {
		sum, err := digestFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return Artefacts{}, fmt.Errorf("find the agent: %w (build it with: make agent)", err)
		}
		if err != nil {
			return Artefacts{}, fmt.Errorf("find the agent: %w", err)
		}
		fmt.Fprintf(identity, "%s %x\n", filepath.Base(path), sum)
	}
	a.Digest = "sha256:" + hex.EncodeToString(identity.Sum(nil))
	return a, nil
}

func digestFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return h.Sum(nil), nil
}
