// Package recipe holds what is true of a recipe wherever it is: its checks (one table) and what they need, defaults and bounds,
// what it needs of a runner, and what it can be reduced by. Coordinator, runner and agent may import it; it imports only the
// protocol and leaves.
package recipe

//go:generate go run ../internal/gen/checks
