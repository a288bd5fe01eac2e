package shadow

// Kinds of mismatch.
const (
	truncated   = "truncated"
	missing     = "missing"
	extra       = "extra"
	foreign     = "foreign"
	wrongMethod = "wrong-method"
)

// classify names the difference between two sequences of methods, outermost first, and the index of the first one. For a truncated
// trace that is the number of entries that it lost. It names as the agent does (agent/native/src/difference.h).
func classify(trusted, suspect []uint32) (kind string, at int) {
	n, m := len(trusted), len(suspect)
	bottom, top := 0, 0
	for bottom < min(n, m) && trusted[bottom] == suspect[bottom] {
		bottom++
	}
	for top < min(n, m) && trusted[n-1-top] == suspect[m-1-top] {
		top++
	}
	switch {
	case m < n && top == m:
		if bottom == m && m > 0 {
			return missing, bottom
		}
		return truncated, n - m
	case m < n && bottom == 0:
		// Truncated with a top that differs, too: the suspect's bottom stands somewhere above the trusted one's.
		for j := 1; j < n; j++ {
			run := 0
			for run < m && j+run < n && trusted[j+run] == suspect[run] {
				run++
			}
			if run > 0 && run+2 >= m {
				return truncated, j
			}
		}
		return foreign, 0
	case m < n:
		if bottom+top >= m {
			return missing, bottom
		}
		return foreign, bottom
	case m > n:
		if bottom+top >= n {
			return extra, bottom
		}
		return foreign, bottom
	}
	if bottom+top+1 == n {
		return wrongMethod, bottom
	}
	return foreign, bottom
}
