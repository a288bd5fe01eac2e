package doctest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is what a reader types at once, and what the page shows for it.
type Command struct {
	// Line of the page, from 1.
	Line int
	Text string
	// Output lines that the page shows.
	Output []string
	// Code is the exit code that the page names in a comment ("# exit code 3"), 0 when it names none.
	Code int
}

var exitCode = regexp.MustCompile(`# .*\bexit code (\d+)`)

// Commands returns those of a block: in a console block they follow "$ ", in sh each statement is one.
func (f Fence) Commands() ([]Command, error) {
	var commands []Command
	var err error
	if f.Campaign {
		return []Command{{Line: f.Line, Text: "misstep campaign check " + partFile}}, nil
	} else if f.Language == "console" {
		commands = f.prompts()
	} else if commands, err = f.statements(); err != nil {
		return nil, err
	}
	for i, c := range commands {
		if m := exitCode.FindStringSubmatch(c.Text); m != nil {
			commands[i].Code, err = strconv.Atoi(m[1])
			if err != nil {
				return nil, err
			}
		}
	}
	return commands, nil
}

// partFile is the campaign that is made of a part.
const partFile = "part.yaml"

// campaign is the smallest campaign that has the block's fields.
func (f Fence) campaign() string {
	lines := slices.Clone(f.Lines)
	for _, field := range []string{
		"name: part", "jdks: [jdk17, jdk25]", "workloads: [{name: clinit}]", "checks: [{name: liveness}]", "budget: {trials: 1}",
	} {
		name, _, _ := strings.Cut(field, " ")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name) }) {
			lines = append(lines, field)
		}
	}
	return strings.Join(lines, "\n")
}

// prompts splits a block with prompts. A command continues while its lines end with a backslash.
func (f Fence) prompts() (commands []Command) {
	continued := false
	for i, l := range f.Lines {
		text, prompt := strings.CutPrefix(l, "$ ")
		switch {
		case continued:
			commands[len(commands)-1].Text += "\n" + l
		case prompt:
			commands = append(commands, Command{Line: f.Line + 1 + i, Text: text})
		case len(commands) > 0:
			last := &commands[len(commands)-1]
			last.Output = append(last.Output, l)
		}
		continued = (prompt || continued) && strings.HasSuffix(l, `\`)
	}
	return commands
}

// statements splits a script where a statement begins on a line of its own.
func (f Fence) statements() ([]Command, error) {
	file, err := Parse(strings.Join(f.Lines, "\n"))
	if err != nil {
		return nil, err
	}
	var begins []int // as indices of lines
	for _, s := range file.Stmts {
		if at := int(s.Pos().Line()) - 1; len(begins) == 0 || at > begins[len(begins)-1] {
			begins = append(begins, at)
		}
	}
	var commands []Command
	for i, begin := range begins {
		end := len(f.Lines)
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		commands = append(commands, Command{Line: f.Line + 1 + begin, Text: strings.Join(f.Lines[begin:end], "\n")})
	}
	return commands, nil
}

// Parse parses a script of bash.
func Parse(script string) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, fmt.Errorf("no shell command: %w", err)
	}
	return file, nil
}

// Calls returns the words of each call of a program in a script, without quotes, in order. What only the shell knows, such as
// $HOME, is in them as it is written.
func Calls(script, program string) ([][]string, error) {
	file, err := Parse(script)
	if err != nil {
		return nil, err
	}
	var calls [][]string
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			if words := argumentsOf(call, program); words != nil {
				calls = append(calls, words)
			}
		}
		return true
	})
	return calls, nil
}

// argumentsOf returns the words behind a program, nil if the call is of another one.
func argumentsOf(call *syntax.CallExpr, program string) []string {
	for i, w := range call.Args {
		switch plain(w) {
		case "sudo":
			continue
		case program:
			words := []string{}
			for _, w := range call.Args[i+1:] {
				words = append(words, plain(w))
			}
			return words
		}
		return nil
	}
	return nil
}

// plain is a word without its quotes.
func plain(word *syntax.Word) string {
	var text strings.Builder
	var write func(parts []syntax.WordPart)
	write = func(parts []syntax.WordPart) {
		for _, part := range parts {
			switch p := part.(type) {
			case *syntax.Lit:
				text.WriteString(strings.ReplaceAll(p.Value, "\\", ""))
			case *syntax.SglQuoted:
				text.WriteString(p.Value)
			case *syntax.DblQuoted:
				write(p.Parts)
			default:
				_ = syntax.NewPrinter().Print(&text, p)
			}
		}
	}
	write(word.Parts)
	return text.String()
}
