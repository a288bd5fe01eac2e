package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"misstep/internal/regular"
	"misstep/recipe"
)

// FileAbout is the name of the file in the agent's folder that says which JVM the agent was in (out_folder.h).
const FileAbout = "jvm.txt"

// FileOwner is the name of the file there that who attaches the agent to a running JVM keeps locked: once the lock (flock) is gone,
// the agent ends (owner.h).
const FileOwner = "owner.lock"

// fileUnchecked is the name of the file there that has a byte for each further JVM with the same folder, which the agent left alone
// (out_folder.h).
const fileUnchecked = "unchecked"

// Unchecked returns how many JVMs the agent left alone because the folder, the agent's, was that of a JVM that ran.
func Unchecked(folder string) int64 {
	info, err := os.Stat(filepath.Join(folder, fileUnchecked))
	if err != nil {
		return 0
	}
	return info.Size()
}

// maxAbout bounds what is read of it, in bytes: a command line may be long.
const maxAbout = 1 << 20

// About says which JVM the agent was in.
type About struct {
	PID int
	// Version as the JVM's properties give it, "OpenJDK 64-Bit Server VM (17.0.15+6)", and its java.home.
	Version, Home string
	// Command is the main class or jar with the program's arguments.
	Command string
	// Options are the agent's, as they were given.
	Options string
}

// ReadAbout reads the file at path; for a missing one the error wraps fs.ErrNotExist.
func ReadAbout(path string) (About, error) {
	f, err := regular.Open(path)
	if err != nil {
		return About{}, fmt.Errorf("read which JVM it was: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxAbout))
	if err != nil {
		return About{}, fmt.Errorf("read which JVM it was: %w", err)
	}
	var a About
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch key {
		case "pid":
			a.PID, _ = strconv.Atoi(value) // a cut file: 0
		case "version":
			a.Version = value
		case "home":
			a.Home = value
		case "command":
			a.Command = value
		case "options":
			a.Options = value
		}
	}
	if a.Options == "" {
		return About{}, fmt.Errorf("read which JVM it was: %s has no options: it is not the agent's, or was cut off", path)
	}
	return a, nil
}

// Checks returns the names of the checks that were on.
func (a About) Checks() (names []string) {
	given := map[string]string{}
	for pair := range strings.SplitSeq(a.Options, ",") {
		key, value, _ := strings.Cut(pair, "=")
		given[key] = value
	}
	for _, c := range recipe.AgentChecks() {
		value, ok := given[c.Name]
		share, err := strconv.ParseFloat(value, 64)
		if ok && err == nil && share > 0 || !ok && c.AgentShare > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}
