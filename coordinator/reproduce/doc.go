// Package reproduce goes from a finding to a verified reproducer: it says which recipes to run how often, and what follows from
// the results.
//
// The way is confirm, amplify, minimise, bisect, verify. A failure is random, so nothing is concluded from one run: amplify looks for
// neighbours that hit at least twice as often, minimise accepts a reduction when a sequential comparison with the best recipe's own tries says
// that the rate is kept, bisect weighs histories of builds. Only the pinned signature is a hit.
//
// Everything here is a pure function of a Reproduction message, which holds the spec and the result of every try: Next runs the whole
// program from its beginning over the results that are there, and where one is missing it asks for it. So there is no state to keep
// in step, a reproduction that was killed goes on where it was, and the same results give the same reproducer. A try's result counts
// in the order in which tries were asked for, not in which they ended.
package reproduce
