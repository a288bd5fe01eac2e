package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// helpWithDefault is the help of a flag or argument with its default, unless the text names it already.
func helpWithDefault(value *kong.Value) string {
	text := kong.DefaultHelpValueFormatter(value)
	if !showsDefault(value) || strings.Contains(text, "default") {
		return text
	}
	suffix := "(default " + value.Default + ")"
	if strings.HasSuffix(text, ".") {
		return text[:len(text)-1] + " " + suffix + "."
	}
	return strings.TrimSpace(text + " " + suffix)
}

// showsDefault reports whether a value has a default worth showing: flags that are off or empty are no surprise.
func showsDefault(value *kong.Value) bool {
	return value.HasDefault && value.Default != "" && !value.IsBool()
}

// helpWithExitCodes prints the help of a command and what its exit codes mean.
func helpWithExitCodes(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	node := ctx.Selected()
	if node == nil || !runs(node) {
		return nil
	}
	if node.DefaultCmd != nil && len(node.Children) > 0 {
		if err := helpOfDefault(options, ctx); err != nil {
			return err
		}
	}
	fmt.Fprintln(ctx.Stdout, "\nExit codes:")
	t := table(ctx.Stdout)
	for _, m := range exitCodesOf(commandPath(ctx)) {
		fmt.Fprintf(t, "  %s\t%s\n", m.code(), m.Meaning)
	}
	return t.Flush()
}

// helpOfDefault prints the help of the command that the selected one stands for.
func helpOfDefault(options kong.HelpOptions, ctx *kong.Context) error {
	path := commandPath(ctx)
	fmt.Fprintf(ctx.Stdout, "\nWithout a command it is misstep %s:\n\n", path)
	sub, err := kong.Trace(ctx.Kong, strings.Fields(path))
	if err != nil {
		return err
	}
	return kong.DefaultHelpPrinter(options, sub)
}

// runs reports whether a command itself does something: it has no subcommands, or one that it stands for.
func runs(node *kong.Node) bool { return len(node.Children) == 0 || node.DefaultCmd != nil }

// commandPath is the path of the selected command without its arguments, e.g. "vm run"; that of a default command is included.
func commandPath(ctx *kong.Context) string {
	node := ctx.Selected()
	if node == nil {
		return ""
	}
	if len(node.Children) > 0 && node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	var path []string
	for ; node != nil && node.Type == kong.CommandNode; node = node.Parent {
		path = append([]string{node.Name}, path...)
	}
	return strings.Join(path, " ")
}
