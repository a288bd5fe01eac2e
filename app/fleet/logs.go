package fleet

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
	"misstep/schedule"
)

const (
	logBytes = 2000
	logLines = 5
	// logTries is how often it is asked for while it is empty: Nomad writes what a task wrote a moment later.
	logTries = 3
	// logWait is how long the end of a log may take: the node may not answer.
	logWait = 5 * time.Second
)

// seeLogs says how to see what the task of an allocation wrote; empty if it has never run, as after a failed download.
func seeLogs(a *api.AllocationListStub) string {
	if state := a.TaskStates[nomad.TaskName]; state == nil || state.StartedAt.IsZero() {
		return ""
	}
	return fmt.Sprintf("; see `nomad alloc logs -stderr %.8s`", a.ID)
}

// sayStderr says what the task of an allocation wrote last to stderr, or how to see it; it reports whether there was something to
// say.
func (c *Cluster) sayStderr(ctx context.Context, id string) bool {
	lines, err := c.stderr(ctx, id)
	if err != nil {
		c.Say("  `nomad alloc logs -stderr %.8s` shows why", id)
	}
	for _, line := range lines {
		c.Say("  stderr: %s", line)
	}
	return err != nil || len(lines) > 0
}

// stderr returns the last lines that the task of an allocation wrote to stderr.
func (c *Cluster) stderr(ctx context.Context, id string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	q := query(ctx)
	q.Params = map[string]string{
		"task": nomad.TaskName, "type": api.FSLogNameStderr, "plain": "true",
		"origin": api.OriginEnd, "offset": fmt.Sprint(logBytes),
	}
	body, err := c.client.Raw().Response("/v1/client/fs/logs/"+id, q)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 2*logBytes)) // the task may write more meanwhile
	if err != nil {
		return nil, err
	}
	return lastLines(string(text)), nil
}

// lastLines returns the last lines of a string that are not empty, without what would control a terminal.
func lastLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, schedule.Printable(line))
		}
	}
	return lines[max(0, len(lines)-logLines):]
}
