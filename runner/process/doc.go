// Package process runs one program so that it ends when its time is up, with all its descendants, whatever they try.
//
// Every program gets a session and a process group of its own, dies with the runner (PR_SET_PDEATHSIG), and carries a mark in its
// environment that descendants inherit. The runner is a child subreaper, so that what a program leaves behind becomes the
// runner's child. A cgroup of its own holds it where the kernel and the rights allow. Nothing here needs root.
package process
