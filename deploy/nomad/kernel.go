package nomad

import "fmt"

// schedExtKernel is the least kernel whose sched_ext the scheduler runs on (package bpf).
var schedExtKernel = [2]int{7, 2}

// kernelRE is a regular expression for the releases of kernels from major.minor on, such as 7.2.0-1-amd64 or 7.2.0-5.el11.x86_64.
// Nomad's operators version and semver do not fit: to them a distribution's suffix is a pre-release, or no version at all.
func kernelRE(release [2]int) string {
	return fmt.Sprintf(`^(%d\.%s|%s\.[0-9]+)([^0-9]|$)`, release[0], atLeast(release[1]), atLeast(release[0]+1))
}

// atLeast is a regular expression for the decimal numbers from n, 0 to 99, on.
func atLeast(n int) string {
	tens, units := n/10, n%10
	switch {
	case n < 10:
		return fmt.Sprintf("([%d-9]|[1-9][0-9]+)", units)
	case tens == 9:
		return fmt.Sprintf("(9[%d-9]|[1-9][0-9]{2,})", units)
	}
	return fmt.Sprintf("(%d[%d-9]|[%d-9][0-9]|[1-9][0-9]{2,})", tens, units, tens+1)
}
