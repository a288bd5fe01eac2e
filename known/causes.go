package known

import (
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Causes returns the bugs that cause a signature on any JDK, in the catalogue's order.
func (c Catalogue) Causes(s *misstepv1.Signature) []Bug {
	s, _ = signature.Upgrade(s)
	var out []Bug
	for _, b := range c.bugs {
		if b.causes(s) {
			out = append(out, b)
		}
	}
	return out
}
