// Package recipe holds what is true of a recipe everywhere: the table of checks and what they need, defaults, bounds, validation,
// what a recipe needs of a runner, and what it can be reduced by. Coordinator, runner and agent may import it; it imports only the
// protocol and leaves.
package recipe

//go:generate go run ../internal/gen/checks
