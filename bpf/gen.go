package bpf

// The object and its Go types are committed, so that building needs no clang. Remake them with `go generate ./bpf` after
// bpf/install.sh; generated_test.go compiles again and compares.

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-19 -strip llvm-strip-19 -go-package bpf -target bpfel -no-global-types -type misstep_config -type misstep_knobs -type misstep_decision -type misstep_at -type misstep_thread -type misstep_exit -type misstep_record -type misstep_strategy -type misstep_role -type misstep_event -type misstep_order -type misstep_flag -type misstep_mark -type misstep_record_kind -type misstep_stat -type misstep_histogram sched sched.bpf.c -- -O2 -g -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter
