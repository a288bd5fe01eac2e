package nomad

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Bounds of a fleet, far above what is needed.
const (
	maxCount     = 10_000
	maxSlots     = 1024
	maxResource  = 1 << 24
	minDisk      = 200 // MiB: 50 of logs, and the package
	maxDrain     = 24 * time.Hour
	maxLeaseTime = time.Hour
)

var (
	nameRE     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)
	wordRE     = regexp.MustCompile(`^[A-Za-z0-9._*-]{1,128}$`)
	variableRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	fileRE     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)
	// secretRE matches names of variables whose values are secrets.
	secretRE  = regexp.MustCompile(`(?i)(PASSWORD|PASSWD|SECRET|TOKEN|PRIVATE_KEY|ACCESS_KEY|CREDENTIAL)`)
	operators = []string{
		"=", "==", "is", "!=", "not", ">", ">=", "<", "<=", "regexp", "version", "semver", "set_contains",
		"set_contains_all", "set_contains_any", "is_set", "is_not_set",
	}
)

type validator struct{ recipe.Violations }

// Validate returns everything that is wrong with a fleet.
func Validate(f *misstepv1.Fleet) []recipe.Violation {
	v := &validator{}
	v.name("name", f.GetName())
	v.word("region", f.GetRegion())
	v.word("namespace", f.GetNamespace())
	if v.Count("datacentres", len(f.GetDatacentres())) {
		for i, d := range f.GetDatacentres() {
			if d == "" {
				v.Addf(fmt.Sprintf("datacentres[%d]", i), "is empty: give a name, or leave the list out for all")
			}
			v.word(fmt.Sprintf("datacentres[%d]", i), d)
		}
	}
	v.folder("work", f.GetWork())
	if f.GetPriority() > 100 {
		v.Addf("priority", "expected 1 to 100, got %d", f.GetPriority())
	}
	if t := f.GetTransport(); t != "" && t != TLS && t != PlainText {
		v.Addf("transport", "expected %s or %s, got %s", TLS, PlainText, suggest.Quote(t))
	}
	v.artefacts(f.GetArtefacts())
	v.coordinators(f)
	v.groups(f.GetRunners())
	return v.Violations
}

func (v *validator) artefacts(a *misstepv1.FleetArtefacts) {
	switch {
	case (a.GetUrl() == "") == (a.GetPath() == ""):
		v.Addf("artefacts", "expected either url (a folder on a web server, for the package of `misstep fleet package`) or path (a "+
			"folder that all nodes have)")
	case a.GetPath() != "":
		v.folder("artefacts.path", a.GetPath())
	default:
		u, err := url.Parse(a.GetUrl())
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			v.Addf("artefacts.url", "expected http:// or https:// and a folder, such as https://files.example.org/misstep, got %s",
				suggest.Quote(a.GetUrl()))
		} else if u.User != nil {
			v.Addf("artefacts.url", "contains a user: the package needs no secrecy, serve it to the nodes without one")
		}
		v.text("artefacts.url", a.GetUrl())
	}
}

func (v *validator) coordinators(f *misstepv1.Fleet) {
	c := f.GetCoordinators()
	const at = "coordinators"
	v.count(at+".count", c.GetCount())
	if c.GetCount() > 1 && (c.GetStore() == "" || c.GetBlobs() == "") {
		v.Addf(at+".count", "%d coordinators need a store and blobs that they share: give store (postgres://…) and blobs (s3://…)",
			c.GetCount())
	}
	v.location(at+".store", c.GetStore(), "postgres", "postgresql")
	v.location(at+".blobs", c.GetBlobs(), "s3")
	switch {
	case c.GetDir() == "" && (c.GetStore() == "" || c.GetBlobs() == ""):
		v.Addf(at+".dir", "is needed without store and blobs: a folder on the disk of a node, which node names")
	case c.GetDir() != "" && c.GetNode() == "":
		v.Addf(at+".node", "is needed with dir: the Nomad node whose disk it is on")
	case c.GetDir() != "" && c.GetDriver() == Exec:
		v.Addf(at+".driver", "exec does not show dir to the coordinator: use raw_exec")
	}
	v.folder(at+".dir", c.GetDir())
	v.word(at+".node", c.GetNode())
	v.word(at+".node_class", c.GetNodeClass())
	if c.GetPort() > 65535 {
		v.Addf(at+".port", "expected at most 65535, got %d", c.GetPort())
	}
	if t := c.GetLeaseTime(); t != nil && (t.AsDuration() < time.Second || t.AsDuration() > maxLeaseTime) {
		v.Addf(at+".lease_time", "expected 1s to %v, got %v", maxLeaseTime, t.AsDuration())
	}
	v.task(at, c)
}

func (v *validator) groups(all []*misstepv1.FleetRunners) {
	if len(all) == 0 {
		v.Addf("runners", "is required: at least one group of runners")
		return
	}
	if !v.Count("runners", len(all)) {
		return
	}
	seen := map[string]int{}
	for i, g := range all {
		at := fmt.Sprintf("runners[%d]", i)
		v.name(at+".name", g.GetName())
		if first, twice := seen[g.GetName()]; twice {
			v.Addf(at+".name", "%s is the name of runners[%d], too", suggest.Quote(g.GetName()), first)
		}
		seen[g.GetName()] = i
		if g.GetName() == coordinatorName || g.GetName() == sweepName {
			v.Addf(at+".name", "%s is the name of another job of the fleet: choose another", g.GetName())
		}
		v.group(at, g)
	}
}

func (v *validator) group(at string, g *misstepv1.FleetRunners) {
	v.count(at+".count", g.GetCount())
	v.count(at+".max", g.GetMax())
	switch scaled := g.GetMin() != 0 || g.GetMax() != 0; {
	case scaled && g.GetMax() == 0:
		v.Addf(at+".max", "is required with min")
	case scaled && g.GetMin() > g.GetMax():
		v.Addf(at+".min", "expected at most max, %d, got %d", g.GetMax(), g.GetMin())
	case scaled && g.GetCount() != 0 && (g.GetCount() < g.GetMin() || g.GetCount() > g.GetMax()):
		v.Addf(at+".count", "expected min to max, %d to %d, got %d", g.GetMin(), g.GetMax(), g.GetCount())
	case !scaled && g.GetCount() == 0:
		v.Addf(at+".count", "is required, or min and max between which the backlog decides")
	}
	if g.GetSlots() > maxSlots {
		v.Addf(at+".slots", "expected at most %d, got %d", maxSlots, g.GetSlots())
	}
	v.word(at+".arch", g.GetArch())
	v.word(at+".node_class", g.GetNodeClass())
	if d := Drain(g); d < 0 || d > maxDrain {
		v.Addf(at+".drain", "expected 0s to %v, got %v", maxDrain, d)
	}
	if !(g.GetCost() >= 0 && g.GetCost() <= 1e6) {
		v.Addf(at+".cost", "expected 0 to 1000000, got %v", g.GetCost())
	}
	v.task(at, g)
	switch Capability(g) {
	case Plain:
	case SchedExt:
		if g.GetNodeClass() == "" {
			v.Addf(at+".node_class", "is required for sched_ext, whose scheduler is for a whole machine: name the class of the "+
				"nodes that may be used for it")
		}
		if g.GetUser() != "" && g.GetUser() != "root" {
			v.Addf(at+".user", "loading a scheduler needs root: leave user out")
		}
		v.isolated(at, g)
	case VM:
		v.isolated(at, g)
	default:
		v.Addf(at+".capability", "expected %s, %s or %s, got %s", Plain, SchedExt, VM, suggest.Quote(g.GetCapability()))
	}
}

// isolated refuses the driver exec for what it keeps from a task.
func (v *validator) isolated(at string, g *misstepv1.FleetRunners) {
	if g.GetDriver() == Exec {
		v.Addf(at+".driver", "exec keeps %s from the runner: use raw_exec", Capability(g))
	}
}

// task is what coordinators and runners have in common.
type task interface {
	GetResources() *misstepv1.FleetResources
	GetDriver() string
	GetUser() string
	GetEnvironment() map[string]string
	GetSecrets() []string
	GetSecretFiles() []string
	GetArguments() []string
	GetConstraints() []*misstepv1.FleetConstraint
}

func (v *validator) task(at string, t task) {
	for _, r := range []struct {
		name string
		n    uint32
	}{{"cpu", t.GetResources().GetCpu()}, {"memory", t.GetResources().GetMemory()}, {"disk", t.GetResources().GetDisk()}} {
		if r.n > maxResource {
			v.Addf(at+".resources."+r.name, "expected at most %d, got %d", maxResource, r.n)
		}
	}
	if n := t.GetResources().GetDisk(); n > 0 && n < minDisk {
		v.Addf(at+".resources.disk", "expected at least %d MiB, for logs and the package, got %d", minDisk, n)
	}
	if d := t.GetDriver(); d != "" && d != RawExec && d != Exec {
		v.Addf(at+".driver", "expected %s or %s, got %s", RawExec, Exec, suggest.Quote(d))
	}
	v.word(at+".user", t.GetUser())
	if v.Count(at+".environment", len(t.GetEnvironment())) {
		for _, name := range slices.Sorted(maps.Keys(t.GetEnvironment())) {
			v.variable(at, name, t.GetEnvironment()[name])
		}
	}
	v.secrets(at, t)
	if v.Count(at+".arguments", len(t.GetArguments())) {
		for i, a := range t.GetArguments() {
			v.text(fmt.Sprintf("%s.arguments[%d]", at, i), a)
			if hasPassword(a) {
				v.Addf(fmt.Sprintf("%s.arguments[%d]", at, i), "contains a password, which everybody who may read the job would "+
					"see: use secrets")
			}
		}
	}
	if v.Count(at+".constraints", len(t.GetConstraints())) {
		for i, c := range t.GetConstraints() {
			v.constraint(fmt.Sprintf("%s.constraints[%d]", at, i), c)
		}
	}
}

func (v *validator) variable(at, name, value string) {
	at += ".environment." + name
	switch {
	case !variableRE.MatchString(name):
		v.Addf(at, "expected the name of an environment variable")
	case secretRE.MatchString(name) && !strings.HasSuffix(name, "_FILE"), hasPassword(value):
		v.Addf(at, "looks like a secret, which everybody who may read the job would see: name it in secrets instead")
	}
	v.text(at, value)
}

func (v *validator) secrets(at string, t task) {
	v.unique(at+".secrets", t.GetSecrets(), variableRE, "a name of letters, digits and underscores")
	v.unique(at+".secret_files", t.GetSecretFiles(), fileRE, "a name of letters, digits, underscores, dots and dashes")
	for i, name := range t.GetSecrets() {
		if _, plain := t.GetEnvironment()[name]; plain {
			v.Addf(fmt.Sprintf("%s.secrets[%d]", at, i), "%s is in environment, too", suggest.Quote(name))
		}
	}
}

func (v *validator) unique(field string, names []string, form *regexp.Regexp, expected string) {
	if !v.Count(field, len(names)) {
		return
	}
	seen := map[string]bool{}
	for i, name := range names {
		switch at := fmt.Sprintf("%s[%d]", field, i); {
		case !form.MatchString(name):
			v.Addf(at, "expected %s, got %s", expected, suggest.Quote(name))
		case seen[name]:
			v.Addf(at, "%s is given twice", name)
		}
		seen[name] = true
	}
}

func (v *validator) constraint(at string, c *misstepv1.FleetConstraint) {
	if c.GetOperator() != "" && !slices.Contains(operators, c.GetOperator()) {
		v.Addf(at+".operator", "expected one of %s, got %s", strings.Join(operators, ", "), suggest.Quote(c.GetOperator()))
	}
	if c.GetAttribute() == "" {
		v.Addf(at+".attribute", "is required, such as ${meta.rack}")
	}
	if c.GetOperator() == "regexp" {
		if _, err := regexp.Compile(c.GetValue()); err != nil {
			v.Addf(at+".value", "expected a regular expression: %v", err)
		}
	}
	v.text(at+".attribute", c.GetAttribute())
	v.text(at+".value", c.GetValue())
}

func (v *validator) name(field, name string) {
	if !nameRE.MatchString(name) {
		v.Addf(field, "expected 1 to 32 lowercase letters, digits and dashes, got %s", suggest.Quote(name))
	}
}

func (v *validator) word(field, word string) {
	if word != "" && !wordRE.MatchString(word) {
		v.Addf(field, "expected letters, digits, dots, dashes and underscores, got %s", suggest.Quote(word))
	}
}

// text bounds a string and refuses control characters.
func (v *validator) text(field, text string) {
	if len(text) > recipe.MaxString || strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
		v.Addf(field, "expected at most %d bytes without control characters", recipe.MaxString)
	}
}

func (v *validator) count(field string, n uint32) {
	if n > maxCount {
		v.Addf(field, "expected at most %d, got %d", maxCount, n)
	}
}

// folder accepts clean absolute paths without characters that Nomad would interpret.
func (v *validator) folder(field, dir string) {
	v.text(field, dir)
	plain := path.IsAbs(dir) && path.Clean(dir) == dir && strings.Count(dir, "/") >= 2 && !strings.ContainsAny(dir, "${}")
	if dir != "" && !plain {
		v.Addf(field, "expected an absolute path of at least two parts, such as /var/lib/misstep, got %s", suggest.Quote(dir))
	}
}

// location accepts URLs of some schemes without passwords.
func (v *validator) location(field, location string, schemes ...string) {
	if location == "" {
		return
	}
	v.text(field, location)
	u, err := url.Parse(location)
	switch {
	case hasPassword(location): // before anything that quotes it
		v.Addf(field, "contains a password, which everybody who may read the job would see: leave it out, and use secrets "+
			"(PGPASSWORD, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY) or files of the node (PGPASSFILE, "+
			"AWS_SHARED_CREDENTIALS_FILE)")
	case err != nil || !slices.Contains(schemes, u.Scheme):
		v.Addf(field, "expected %s://…, got %s", schemes[0], suggest.Quote(location))
	case u.Scheme == "s3" && u.User != nil:
		v.Addf(field, "contains a user: give keys as secrets")
	}
}

// passwordRE matches the password in a URL, as a part of the user or as a parameter.
var passwordRE = regexp.MustCompile(`(?i)://[^/?#@:]*:[^/?#@]*@|[?&](password|secret|secret_key|token)=[^&#]`)

func hasPassword(text string) bool { return passwordRE.MatchString(text) }
