package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"misstep/bench/trial"
	"misstep/deploy/jdk"
)

// bugCase is a program that shows bugs of AsyncGetCallTrace often.
type bugCase struct {
	// name is that of a workload, unless program is set.
	name string
	// program is a class of agent/test/programs and its arguments, instrumented alone: the agent's tests show the bug by it.
	program []string
	flags   []string
	// from is the least feature version, on the only one, 0 for any.
	from, on int
	// bug and forms name a loss whose cause the moment does not tell but the program does: walks that are wrong in these forms.
	bug   string
	forms []string
	// calls is the method, as class, name and descriptor, that compiled code of the program calls on top; a tap does not know it.
	calls [3]string
}

var searchesString = [...]string{"java.lang.String", "indexOf", "(Ljava/lang/String;)I"}

// bugCases begin with the most telling ones: a short budget does not reach the others.
var bugCases = []bugCase{
	{name: "clinit", flags: []string{"-XX:TieredStopAtLevel=1", "-Xcomp"}},
	{name: "epilogue"},
	{name: "stubs"},
	{name: "pushed", program: []string{"Pushed", "other"}, flags: []string{"-XX:TieredStopAtLevel=1"}},
	{name: "searched", program: []string{"Searched", "string"}, calls: searchesString},
	{
		name: "stored-z", program: []string{"Stored"}, from: 17,
		flags: []string{"-XX:+UseZGC", "-XX:-TieredCompilation", "-XX:ZCollectionInterval=0.01", "-Xmx1g"},
	},
	{
		// agent/deoptimised_jvm_test.go: kept, the same program is walked whole.
		name: "deoptimised", program: []string{"Deoptimised", "deoptimised"},
		flags: []string{
			"-XX:-TieredCompilation", "-XX:-BackgroundCompilation", "-XX:-UseOnStackReplacement", "-XX:CompileCommand=quiet",
			"-XX:CompileCommand=dontinline,Deoptimised.*",
		},
		bug:   "MISSTEP-deoptimised-caller",
		forms: []string{"truncated, below Deoptimised.inner", "truncated, top: interpreted body"},
	},
	{name: "sorted", program: []string{"Sorted"}, on: 26},
	{name: "mix"},
	{
		name: "stored-g1", program: []string{"Stored"}, on: 25,
		flags: []string{"-XX:+UseG1GC", "-XX:-TieredCompilation", "-XX:G1UpdateBufferSize=2", "-XX:-G1UseConcRefinement"},
	},
}

func (c bugCase) runsOn(bed *trial.Bed, on jdk.Entry) bool {
	return on.Feature >= c.from && (c.on == 0 || c.on == on.Feature) && (c.program != nil || bed.Runs(on, c.name))
}

// caseNamed returns the case of that name; the zero one if there is none any more.
func caseNamed(name string) bugCase {
	for _, c := range bugCases {
		if c.name == name {
			return c
		}
	}
	return bugCase{}
}

// compilePrograms compiles the programs of the cases, and returns the folder of their classes.
func compilePrograms(bed *trial.Bed) (string, error) {
	compiler, ok := bed.JDK(17)
	if !ok || !compiler.HasCompiler {
		return "", errors.New("compile the programs: the catalogue has no JDK 17 with a compiler; fill it with make catalogue")
	}
	dir, sources := filepath.Join(bed.Dir, "programs"), filepath.Join("agent", "test", "programs")
	words := []string{"--release", "8", "-nowarn", "-d", dir, "-sourcepath", sources}
	for _, c := range bugCases {
		if c.program != nil {
			words = append(words, filepath.Join(sources, c.program[0]+".java"))
		}
	}
	output, err := exec.Command(filepath.Join(compiler.Path, "bin", "javac"), words...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile the programs: %w: %s", err, output)
	}
	return dir, nil
}
