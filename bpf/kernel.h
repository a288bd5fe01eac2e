// The little of the kernel that the scheduler touches, declared here so that no vmlinux.h of some kernel has to be
// kept: CO-RE relocates every field and enumerator to the running kernel. Functions are those of Linux 7.1 and later.
#ifndef MISSTEP_KERNEL_H
#define MISSTEP_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

// include/uapi/linux/bpf.h
enum bpf_map_type {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_RINGBUF = 27,
  BPF_MAP_TYPE_TASK_STORAGE = 29,
};
#define BPF_ANY 0
#define BPF_F_NO_PREALLOC 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0
#define BPF_F_TIMER_ABS 1
#define BPF_F_TIMER_CPU_PIN 2
#define CLOCK_MONOTONIC 1

struct bpf_timer {
  __u64 opaque[2];
} __attribute__((aligned(8)));

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

// Never looked into; cilium/ebpf takes no forward declaration for a kernel function's argument.
struct cpumask {
  unsigned long bits[1];
};

struct sched_ext_entity {
  __u64 slice;
  __u64 dsq_vtime;
};

struct task_struct {
  int pid;
  int tgid;
  unsigned int flags;
  unsigned int policy;
  const struct cpumask *cpus_ptr;
  struct sched_ext_entity scx;
  char comm[16];
};

struct pt_regs {
  unsigned long orig_ax;
  unsigned long ip;
};

struct perf_event_attr {
  __u64 bp_addr;
};

struct perf_event {
  struct perf_event_attr attr;
};

struct scx_init_task_args {
  bool fork;
};

struct scx_exit_task_args {
  bool cancelled;
};

enum scx_exit_kind { SCX_EXIT_NONE = 0 };

struct scx_exit_info {
  enum scx_exit_kind kind;
  __s64 exit_code;
  const char *reason;
  char *msg;
  char *dump;
};

struct scx_bpf_dsq_insert_vtime_args {
  __u64 dsq_id;
  __u64 slice;
  __u64 vtime;
  __u64 enq_flags;
};

#pragma clang attribute pop

// Values as of Linux 7.2; only their names are taken, see KERNEL().
enum scx_enq_flags {
  SCX_ENQ_WAKEUP = 1ULL,
  SCX_ENQ_REENQ = 1ULL << 40,
  SCX_ENQ_LAST = 1ULL << 41,
};
enum scx_wake_flags { SCX_WAKE_FORK = 4ULL };
enum scx_kick_flags { SCX_KICK_IDLE = 1ULL, SCX_KICK_PREEMPT = 2ULL };
enum scx_dsq_id_flags { SCX_DSQ_GLOBAL = 0x8000000000000001ULL, SCX_DSQ_LOCAL = 0x8000000000000002ULL };
enum scx_ops_flags { SCX_OPS_ENQ_LAST = 2ULL, SCX_OPS_SWITCH_PARTIAL = 8ULL };

// KERNEL(enum, enumerator) is the running kernel's value of an enumerator.
#define KERNEL(type, name) __builtin_preserve_enum_value(*(type *)name, 1)
// PRESENT(field) tells whether the running kernel's type has a field: BPF_FIELD_EXISTS of bpf_core_read.h.
#define PRESENT(field) __builtin_preserve_field_info(field, 2)
#define SCHED_EXT 7            // include/uapi/linux/sched.h
#define PF_EXITING 0x00000004  // include/linux/sched.h

// The members of the kernel's struct that are used; the loader fills the kernel's own layout by name.
struct sched_ext_ops {
  __s32 (*select_cpu)(struct task_struct *p, __s32 prev_cpu, __u64 wake_flags);
  void (*enqueue)(struct task_struct *p, __u64 enq_flags);
  void (*dispatch)(__s32 cpu, struct task_struct *prev);
  void (*running)(struct task_struct *p);
  void (*stopping)(struct task_struct *p, bool runnable);
  __s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
  void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
  void (*enable)(struct task_struct *p);
  __s32 (*init)(void);
  void (*exit)(struct scx_exit_info *info);
  __u64 flags;
  __u32 timeout_ms;
  char name[128];
};

struct bpf_iter_scx_dsq {
  __u64 opaque[6];
} __attribute__((aligned(8)));

__s32 scx_bpf_create_dsq(__u64 dsq_id, __s32 node) __ksym;
__s32 scx_bpf_select_cpu_dfl(struct task_struct *p, __s32 prev_cpu, __u64 wake_flags, bool *is_idle) __ksym;
// The twin without ___v2 cannot be named: cilium/ebpf v0.22 finds both when it looks for one (btf.Spec.AnyTypesByName).
bool scx_bpf_dsq_insert___v2(struct task_struct *p, __u64 dsq_id, __u64 slice, __u64 enq_flags) __ksym;
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p, struct scx_bpf_dsq_insert_vtime_args *args) __ksym;
bool scx_bpf_dsq_move_to_local___v2(__u64 dsq_id, __u64 enq_flags) __ksym;
void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it__iter, __u64 vtime) __ksym;
void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it__iter, __u64 slice) __ksym;
bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, __u64 dsq_id,
                            __u64 enq_flags) __ksym;
__s32 scx_bpf_dsq_nr_queued(__u64 dsq_id) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, __u64 dsq_id, __u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
void scx_bpf_kick_cpu(__s32 cpu, __u64 flags) __ksym;
__s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, __u64 flags) __ksym;
__s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
__u32 scx_bpf_nr_cpu_ids(void) __ksym;
void scx_bpf_error_bstr(char *fmt, unsigned long long *data, __u32 data__sz) __ksym;
struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;

// IMPOSSIBLE ejects the scheduler with a message of one number: the kernel's own takes every task back.
#define IMPOSSIBLE(text, number)                                 \
  ({                                                             \
    static char format[] = text ": %llu";                        \
    unsigned long long data[1] = {(unsigned long long)(number)}; \
    scx_bpf_error_bstr(format, data, sizeof(data));              \
  })

#endif  // MISSTEP_KERNEL_H
