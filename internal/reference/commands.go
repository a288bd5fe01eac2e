package reference

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Commands renders the model of a command line: a section for each command that can be run, except hidden ones.
func Commands(model *kong.Application) string {
	var b strings.Builder
	b.WriteString(Generated)
	fmt.Fprintf(&b, "# Command line\n\n%s\n\n", Paragraph(model.Help))
	b.WriteString("Flags that every command takes:\n\n")
	flags(&b, model.Flags)
	leaves := model.Leaves(true)
	b.WriteString("\n| command | purpose |\n|---|---|\n")
	for _, leaf := range leaves {
		name := leaf.FullPath()
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), Cell(leaf.Help))
	}
	for _, leaf := range leaves {
		command(&b, leaf)
	}
	return b.String()
}

func command(b *strings.Builder, n *kong.Node) {
	fmt.Fprintf(b, "\n## `%s`\n\n", n.FullPath())
	if n.Help != "" {
		fmt.Fprintf(b, "%s\n\n", Paragraph(n.Help))
	}
	usage := []string{n.FullPath()}
	for _, p := range n.Positional {
		usage = append(usage, p.Summary())
	}
	fmt.Fprintf(b, "```\n%s\n```\n", strings.Join(usage, " "))
	if n.Detail != "" {
		fmt.Fprintf(b, "\n%s\n", n.Detail)
	}
	if len(n.Positional) > 0 {
		b.WriteString("\n| argument | meaning |\n|---|---|\n")
		for _, p := range n.Positional {
			fmt.Fprintf(b, "| `%s` | %s |\n", p.Summary(), Cell(p.Help))
		}
	}
	var own []*kong.Flag // those of the command and of its parents, but not those of the whole program
	for at := n; at != nil && at.Parent != nil; at = at.Parent {
		own = append(own, at.Flags...)
	}
	if len(own) > 0 {
		b.WriteByte('\n')
		flags(b, own)
	}
}

func flags(b *strings.Builder, all []*kong.Flag) {
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range all {
		if f.Hidden || f.Name == "help" {
			continue
		}
		name := "`--" + f.Name
		if !f.IsBool() {
			name += "=" + f.FormatPlaceHolder()
		} else if f.Tag.Negatable != "" {
			name = "`--[no-]" + f.Name
		}
		name += "`"
		if f.Short != 0 {
			name = fmt.Sprintf("`-%c`, %s", f.Short, name)
		}
		value := ""
		if f.Default != "" {
			value = "`" + f.Default + "`"
		}
		help := f.Help
		if len(f.Envs) > 0 {
			help += " Environment: `" + strings.Join(f.Envs, "`, `") + "`."
		}
		if f.Required {
			help += " Required."
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, value, Cell(help))
	}
}
