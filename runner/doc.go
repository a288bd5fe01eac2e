// Package runner holds leases and runs their trials: it reports the leases it holds to the coordinator and follows the response.
package runner
