package main

import (
	"os"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	predict "github.com/posener/complete"

	"misstep/app/local"
	"misstep/internal/home"
	"misstep/recipe"
	"misstep/schedule"
)

// completionCommand prints the shell code that completes commands, flags and names of the catalogues.
type completionCommand struct {
	Shell string `arg:"" help:"Shell: bash, zsh or fish." enum:"bash,zsh,fish"`
}

// Help is shown below the command's usage.
func (c *completionCommand) Help() string {
	return "Put this line into ~/.bashrc (zsh: ~/.zshrc):\n\n  source <(misstep completion bash)\n\n" +
		"and this one into ~/.config/fish/config.fish:\n\n  misstep completion fish | source\n"
}

// Run prints the code.
func (c *completionCommand) Run(k *kong.Context) error {
	return (&kongcompletion.Completion{Shell: c.Shell, Code: true}).Run(k)
}

// complete answers a shell that asks for completions, by the variable COMP_LINE, and then calls the parser's exit function.
func complete(parser *kong.Kong) {
	if os.Getenv("COMP_LINE") == "" {
		return
	}
	i := local.Installation{Home: home.Dir()}
	kongcompletion.Register(parser,
		kongcompletion.WithPredictor("jdk", names(i.JDKNames)),
		kongcompletion.WithPredictor("workload", names(i.WorkloadNames)),
		kongcompletion.WithPredictor("strategy", names(strategyNames)),
		kongcompletion.WithPredictor("profiler", names(profilerNames)),
		kongcompletion.WithPredictor("file", predict.PredictFiles("*")),
	)
}

// names predicts the names of a list; a list that cannot be read has none.
func names(list func() ([]string, error)) predict.Predictor {
	return predict.PredictFunc(func(predict.Args) []string {
		all, err := list()
		if err != nil {
			return nil
		}
		return all
	})
}

func strategyNames() (all []string, err error) {
	for _, s := range schedule.Strategies() {
		all = append(all, s.Name)
	}
	return all, nil
}

func profilerNames() ([]string, error) {
	all := []string{recipe.ProfilerNone}
	for _, p := range recipe.Profilers() {
		all = append(all, p.Name)
	}
	return all, nil
}
