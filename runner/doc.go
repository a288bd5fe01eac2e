// Package runner holds leases and runs their trials: it tells the coordinator what it has and does what the answer wants.
package runner
