// Command checks generates agent/native/src/checks.gen.h from the table of checks in misstep/recipe. Run it with
//
//	go generate ./recipe
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"misstep/recipe"
)

func main() {
	log.SetFlags(0)
	if err := os.WriteFile(target(), header(recipe.AgentChecks()), 0o644); err != nil {
		log.Fatalf("write the agent's table of checks: %v", err)
	}
}

// target returns the path of the generated file, whatever the working directory is.
func target() string {
	_, self, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(self), "../../../agent/native/src/checks.gen.h")
}

// header returns the table as C++.
func header(checks []recipe.Check) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `// Code generated from recipe/checks.go by go generate ./recipe; DO NOT EDIT.
// clang-format off
#pragma once

#include <cstddef>
#include <cstdint>

// The number of checks in the status file; abi.h has the layout of one.
#define MISSTEP_CHECK_COUNT %d

// The names of the options, for messages.
#define MISSTEP_CHECK_OPTIONS %q

namespace misstep {

// The agent's checks in the order of the status file.
enum class Check : uint8_t {
`, len(checks), strings.Join(recipe.Names(checks), ", "))
	for _, c := range checks {
		fmt.Fprintf(&b, "  %s,\n", enumerator(c.Name))
	}
	b.WriteString(`  kCount,
};

// Names of the checks, which are also their options.
inline constexpr const char* kCheckNames[] = {
`)
	for _, c := range checks {
		fmt.Fprintf(&b, "  %q,\n", c.Name)
	}
	b.WriteString(`};

// Properties of a check.
struct CheckFacts {
  double share;  // if its option is left out; 0 means off
  bool methods;  // it needs instrumented methods
  bool signals;  // it needs signals
};

inline constexpr CheckFacts kCheckFacts[] = {
`)
	for _, c := range checks {
		fmt.Fprintf(&b, "  {%s, %t, %t},  // %s\n", strconv.FormatFloat(c.AgentShare, 'g', -1, 64), c.Methods, c.Signals, c.Name)
	}
	fmt.Fprintf(&b, `};

constexpr const char* NameOf(Check check) { return kCheckNames[static_cast<size_t>(check)]; }
constexpr const CheckFacts& FactsOf(Check check) { return kCheckFacts[static_cast<size_t>(check)]; }

// The interval between looks of liveness in milliseconds, if its option is left out.
inline constexpr uint32_t kLivenessMillis = %d;

}  // namespace misstep
`, recipe.AgentLivenessMillis)
	return b.Bytes()
}

// enumerator returns the C++ name of a check: kGstAsgct for gst-asgct.
func enumerator(name string) string {
	var b strings.Builder
	b.WriteByte('k')
	for word := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
