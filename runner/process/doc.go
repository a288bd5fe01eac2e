// Package process runs one program so that it and all its descendants can be killed reliably, whatever they do.
//
// Every program gets a session and a process group of its own, dies with the runner (PR_SET_PDEATHSIG), and carries a mark in its
// environment that descendants inherit. The runner is a child subreaper, so that orphaned descendants become the runner's children.
// The program runs in a cgroup of its own if the kernel and the permissions allow it. Nothing here requires root.
package process
