package triage

import (
	"regexp"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Failure returns the signature of a failure of the workload that is a finding, and a title.
func Failure(f *misstepv1.ApplicationFailure) (*misstepv1.Signature, string) {
	s := signature.Failure{Reason: f.GetReason(), Message: signature.WithoutValues(f.GetMessage())}
	return signature.Proto(s), signature.Clean("failure (" + s.Reason + "): " + f.GetMessage())
}

// wordlessRE matches the message about a program that gave nothing but an exit code.
var wordlessRE = regexp.MustCompile(`^exit code NUM(, not NUM)?$`)

func assortedFailure(s signature.Failure) string {
	if wordlessRE.MatchString(s.Message) {
		return "the program gave an exit code and no words, which may have any cause"
	}
	return ""
}

func explainFailure(f *misstepv1.ApplicationFailure, s *misstepv1.Signature) Explanation {
	facts := []Fact{{"reason", f.GetReason()}, {"message", f.GetMessage()}}
	return Explanation{
		Rule:   "failure/message",
		Reason: "Failures are the same if the program gave the same words, apart from numbers and addresses.",
		Facts:  append(facts, partFacts(s)...),
	}
}

var messageWordRE = regexp.MustCompile(`[\pL_$][\pL\pN_$]*(?:\.[\pL_$][\pL\pN_$]*)*`)

// messageTokens returns the tokens of what a program reported: the whole of it and the classes in it that are not of the JDK are
// characteristic, words are not.
func messageTokens(message string) []token {
	out := []token{characteristic(message)}
	for _, word := range messageWordRE.FindAllString(message, -1) {
		if strings.Contains(word, ".") && !ofJDK.MatchString(word) {
			out = append(out, characteristic(word))
			continue
		}
		out = append(out, frequent(word))
	}
	return out
}
