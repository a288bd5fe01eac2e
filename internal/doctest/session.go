package doctest

import (
	"context"
	_ "embed" // the prelude
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed prelude.sh
var prelude string

// Session runs one page.
type Session struct {
	Page  Page
	Table *Table
	// Dir is the folder in which the page's commands run, Records another one for what they print; both exist.
	Dir, Records string
	// Values are put in place of {NAME} in the table.
	Values map[string]string
	// Has reports whether this machine has what a block needs.
	Has func(string) bool
	// Env is the environment of the commands.
	Env []string
}

// Result is what a session has come to.
type Result struct {
	// Commands that were run.
	Commands int
	// CPU time of the commands and of all that they have started and awaited.
	CPU time.Duration
}

// Run runs the page's commands in one shell, from top to bottom, until the first one that fails. The error names the page, the
// line, the command and what it has printed.
func (s *Session) Run(ctx context.Context) (Result, error) {
	commands, script, err := s.script()
	if err != nil {
		return Result{}, err
	}
	file := filepath.Join(s.Records, "script.sh")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		return Result{}, err
	}
	bash := exec.CommandContext(ctx, "bash", file)
	bash.Dir, bash.Env = s.Dir, s.Env
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	bash.Cancel = func() error { return syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }
	output, ran := bash.CombinedOutput()
	result := Result{Commands: len(commands)}
	if state := bash.ProcessState; state != nil {
		result.CPU = state.UserTime() + state.SystemTime()
		_ = syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) // what a page has left running
	}
	if err := s.judge(commands); err != nil {
		return result, errors.Join(err, ctx.Err())
	}
	if ran != nil {
		return result, fmt.Errorf("%s: %w\n%s", s.Page.Name, ran, output)
	}
	return result, nil
}

// script is the page as one script, and its commands after the table's substitutions.
func (s *Session) script() (commands []Command, script string, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, "records=%q\n%s\n", s.Records, prelude)
	if given := s.fill(s.Table.given(s.Page.Name)); given != "" {
		fmt.Fprintf(&b, "set -e\n{\n%s} >\"$records/given.out\" 2>&1 </dev/null\nset +e\n", given)
	}
	for _, f := range s.Page.Fences {
		switch {
		case f.Skip != "" || f.Needs != "" && !s.Has(f.Needs):
		case f.Save != "":
			b.WriteString(file(f.Save, s.adapt(strings.Join(f.Lines, "\n"))))
		default:
			of, err := f.Commands()
			if err != nil {
				return nil, "", fmt.Errorf("%s:%d: %w", s.Page.Name, f.Line, err)
			}
			if f.Campaign {
				b.WriteString(file(partFile, f.campaign()))
			}
			for _, c := range of {
				c.Text = s.adapt(c.Text)
				for i, l := range c.Output {
					c.Output[i] = s.adapt(l)
				}
				fmt.Fprintf(&b, "{\n%s\n} >\"$records/%d.out\" 2>&1 </dev/null\nended %[2]d $? %d\n", c.Text, len(commands), c.Code)
				commands = append(commands, c)
			}
		}
	}
	return commands, b.String(), nil
}

// file is the command that writes a file.
func file(name, text string) string {
	return fmt.Sprintf("cat >%q <<'END OF THE FILE'\n%s\nEND OF THE FILE\n", name, text)
}

func (s *Session) adapt(text string) string { return s.fill(s.Table.substitute(s.Page.Name, text)) }

// fill puts the session's values in place of {NAME}.
func (s *Session) fill(text string) string {
	for name, value := range s.Values {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

// judge compares what the commands came to with what the page says.
func (s *Session) judge(commands []Command) (problems error) {
	for i, c := range commands {
		printed, err := os.ReadFile(filepath.Join(s.Records, strconv.Itoa(i)+".out"))
		if errors.Is(err, os.ErrNotExist) {
			given, _ := os.ReadFile(filepath.Join(s.Records, "given.out"))
			return errors.Join(problems, fmt.Errorf("%s:%d: not reached; what was given before: %s", s.Page.Name, c.Line, given))
		} else if err != nil {
			return err
		}
		code, err := os.ReadFile(filepath.Join(s.Records, strconv.Itoa(i)+".code"))
		if err != nil {
			return errors.Join(problems, problem(s.Page.Name, c, "did not end in time, or ended the shell", printed))
		}
		if got := strings.TrimSpace(string(code)); got != strconv.Itoa(c.Code) {
			return errors.Join(problems, problem(s.Page.Name, c, fmt.Sprintf("exit code %s, want %d", got, c.Code), printed))
		}
		if missing := Missing(s.required(c.Output), string(printed)); len(missing) > 0 {
			problems = errors.Join(problems, problem(s.Page.Name, c,
				"the page shows lines that are not printed, or in another order:\n"+strings.Join(missing, "\n"), printed))
		}
	}
	return problems
}

// required are the lines that every run prints.
func (s *Session) required(shown []string) []string {
	return slices.DeleteFunc(slices.Clone(shown), func(l string) bool { return s.Table.varies(s.Page.Name, l) })
}
