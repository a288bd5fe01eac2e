// Package reproduce turns a finding into a verified reproducer: it decides which recipes to run how often, and what follows from
// the results.
//
// The steps are confirm, amplify, minimise, bisect and verify. A failure is random, so nothing is concluded from one run: amplify
// looks for neighbours that hit at least twice as often, minimise accepts a reduction when a sequential comparison with the best
// recipe's own tries shows that the rate is kept, and bisect weighs histories of builds. Only the pinned signature is a hit.
//
// Everything here is a pure function of a Reproduction message, which holds the spec and the result of every try: Next runs the
// whole program from its beginning over the results that are present, and asks for the missing ones. So there is no state to keep
// in sync, a reproduction that was killed resumes where it was, and the same results give the same reproducer. Results count in the
// order in which the tries were requested, not in which they ended.
package reproduce
