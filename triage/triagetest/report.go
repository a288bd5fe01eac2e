package triagetest

// Report is an error file or a thread dump that a JVM of known trouble left. Its reader and triage are both tested with it.
type Report struct {
	// Name is unique: the causes, the JDK, what was done.
	Name string `json:"name"`
	// Causes of the crash or hang: what an engineer would consider one bug each. A hang may have several at once.
	Causes []string `json:"causes"`
	// Alike is parallel to Causes: reports with an equal element show that cause in the same way, so they must have a common id.
	// One cause may have several: what the VM does in consequence of it may have other names in another build, and an unsymbolised
	// VM does not say its names.
	Alike []string `json:"alike"`
	// Kind is KindCrash or KindHang.
	Kind string `json:"kind"`
	JDK  string `json:"jdk"`
	// Held back: not used to improve triage, so triage can be evaluated with it.
	Held bool `json:"held,omitempty"`
	// Text of the file, without what no reader of it looks at.
	Text string `json:"text"`
}

// OpenReports reads the reports of a compressed file, a JSON object each.
func OpenReports(path string) ([]Report, error) { return readLines[Report](path) }
