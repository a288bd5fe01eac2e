package bpf

// The object and its Go types are committed, so that building needs no clang. To regenerate them, run bpf/install.sh and `go
// generate ./bpf`; layout_test.go compiles again and compares. gentypes writes the types of schedule/intf.h into package schedule.

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-19 -strip llvm-strip-19 -go-package bpf -target bpfel -no-global-types -type misstep_decision -type misstep_at -type misstep_thread -type misstep_exit -type misstep_record -type misstep_role -type misstep_event -type misstep_mark -type misstep_record_kind -type misstep_ending sched sched.bpf.c -- -O2 -g -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter
//go:generate go run ./gentypes -object sched_bpfel.o -o ../schedule/intf.go
