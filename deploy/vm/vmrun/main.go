// Command vmrun is `misstep vm` for those who work on the virtual machine or the scheduler and have not built misstep.
package main

import (
	"os"

	"misstep/deploy/vm"
)

func main() { os.Exit(vm.Command(os.Args[1:], os.Stdout, os.Stderr)) }
