// Package vmtest runs the tests that need a kernel with sched_ext in a virtual machine that has one.
package vmtest
