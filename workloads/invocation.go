package workloads

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Invocation is the command line of a workload: java, JVMFlags, the recipe's and the agent's flags, then Args.
type Invocation struct {
	// JVMFlags that the workload needs. The recipe's flags follow, so they take precedence.
	JVMFlags []string
	// Args are system properties, then -cp PATH MAIN or -jar JAR, then the program's arguments.
	Args []string
}

// Invocation returns the command line that runs the workload whose folder is dir. w may replace arguments and repetitions; its name
// selects the benchmark of Renaissance. The workload writes only below the folder scratch, which the caller creates before and
// removes afterwards.
func (m Manifest) Invocation(dir string, w *misstepv1.Workload, scratch string) (Invocation, error) {
	fail := func(err error) (Invocation, error) {
		return Invocation{}, fmt.Errorf("start workload %s: %w", m.Name, err)
	}
	if scratch == "" {
		return fail(errors.New("no scratch folder given"))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fail(err)
	}
	if scratch, err = filepath.Abs(scratch); err != nil {
		return fail(err)
	}
	if strings.Contains(dir, ":") {
		return fail(fmt.Errorf("its folder %s has a \":\" in its name, which separates class path entries; move it", dir))
	}
	files, err := m.files(dir)
	if err != nil {
		return fail(err)
	}
	arguments, repetitions := m.Arguments, m.Repetitions
	if len(w.GetArguments()) > 0 {
		arguments = w.GetArguments()
	}
	if w.GetRepetitions() > 0 {
		repetitions = w.GetRepetitions()
	}
	count := strconv.FormatUint(uint64(repetitions), 10)
	// Libraries unpack native code and caches into the temporary folder, so it must be the trial's own.
	args := []string{"-Djava.io.tmpdir=" + scratch}
	if m.Harness == HarnessRenaissance {
		benchmark, err := benchmarkOf(w.GetName())
		if err != nil {
			return fail(err)
		}
		args = append(args, "-jar", files[0], "-r", count, "--scratch-base", scratch)
		args = append(args, arguments...)
		return Invocation{JVMFlags: m.JVMFlags, Args: append(args, benchmark)}, nil
	}
	switch {
	case m.Harness != HarnessProgram:
		args = append(args,
			"-Dmisstep.name="+m.Name,
			"-Dmisstep.repetitions="+count,
			"-Dmisstep.scratch="+scratch)
	case len(files) == 0:
		return fail(errors.New("its class path is not in the bundle: unpack that, and run its run.sh with MISSTEP_CLASSPATH set " +
			"to the class path"))
	}
	if m.Jar != "" {
		args = append(args, "-jar", files[0])
	} else {
		args = append(args, "-cp", strings.Join(files, ":"), m.Main)
	}
	return Invocation{JVMFlags: m.JVMFlags, Args: append(args, arguments...)}, nil
}

// benchmarkOf returns the NAME of "renaissance/NAME".
func benchmarkOf(name string) (string, error) {
	benchmark, ok := strings.CutPrefix(name, renaissancePrefix)
	if !ok {
		return "", fmt.Errorf("%q names no benchmark; write %sNAME", clip(name, 80), renaissancePrefix)
	}
	if err := CheckName(benchmark); err != nil {
		return "", fmt.Errorf("benchmark: %w", err)
	}
	return benchmark, nil
}
