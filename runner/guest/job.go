// Package guest runs trials in virtual machines with sched_ext: JVM, agent and scheduler run inside; outcome and evidence are
// copied out.
//
// The Executor is the part on the host. It resolves the JDK and the workload of a recipe, boots a machine that sees their
// files, and runs this same program in it, whose part in the guest (Main) runs the recipe as on any host.
package guest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Executors by the name that a recipe gives.
const (
	// Shared is a machine in real time that sees the host's files.
	Shared = recipe.ExecutorVM
	// Deterministic is a machine in virtual time that has only the files it is given: the same recipe has the same run.
	Deterministic = recipe.ExecutorVMDeterministic
)

// Names below the folder of a machine's evidence.
const (
	fileOutcome = "outcome.json"
	fileFailure = "failure.json"
	dirFiles    = "files"
)

// maxMessage bounds a guest's outcome in bytes.
const maxMessage = 8 << 20

// maxParts and maxItems bound the objects in a guest's message, and what is separated by commas: an empty object takes two bytes
// there and two hundred here. An outcome of 8 MiB has a frame in fifty bytes.
const (
	maxParts = 200_000
	maxItems = 1_000_000
)

// job is the host's request to the guest. All paths are the guest's.
type job struct {
	Recipe   json.RawMessage `json:"recipe"`
	Jdk      string          `json:"jdk"`
	Feature  int             `json:"feature"`
	Workload string          `json:"workload"`
	Agent    string          `json:"agent"` // empty for none
	Patches  string          `json:"patches"`
	// HelperJava and HelperJar are the helper that reads recordings, Profilers the folder of profilers' libraries; empty for none.
	HelperJava string `json:"helper_java,omitempty"`
	HelperJar  string `json:"helper_jar,omitempty"`
	Profilers  string `json:"profilers,omitempty"`
}

func (j job) recipe() (*misstepv1.Recipe, error) {
	r := &misstepv1.Recipe{}
	if err := protojson.Unmarshal(j.Recipe, r); err != nil {
		return nil, fmt.Errorf("read recipe: %w", err)
	}
	return r, nil
}

func readJob(path string) (job, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return job{}, fmt.Errorf("read job: %w", err)
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return job{}, fmt.Errorf("read job %s: %w", path, err)
	}
	return j, nil
}

func (j job) write(path string) error {
	text, err := json.Marshal(j)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write job: %w", err)
	}
	return nil
}

func writeMessage(dir, name string, m proto.Message) error {
	text, err := misstepv1.Canonical(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// readMessage reads a message that a guest wrote, which is not trusted. The error wraps os.ErrNotExist if the file is missing.
func readMessage(dir, name string, m proto.Message) error {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxMessage {
		return fmt.Errorf("the guest's %s has %d bytes, at most %d are accepted", name, info.Size(), maxMessage)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.Count(text, []byte("{")) > maxParts || bytes.Count(text, []byte(",")) > maxItems {
		return fmt.Errorf("the guest's %s has more than %d objects or %d items", name, maxParts, maxItems)
	}
	if err := protojson.Unmarshal(text, m); err != nil {
		return fmt.Errorf("the guest's %s: %w", name, err)
	}
	return nil
}
