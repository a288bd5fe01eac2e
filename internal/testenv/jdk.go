package testenv

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// JDK is a JDK of the catalogue.
type JDK struct {
	Name, Path, Version, Digest string
	Feature                     int
}

// Tool returns the path of one of the JDK's programs.
func (j JDK) Tool(name string) string { return filepath.Join(j.Path, "bin", name) }

// Catalogued returns a JDK of the catalogue by its name; the test skips where there is none.
func Catalogued(t testing.TB, name string) JDK {
	t.Helper()
	file := filepath.Join(Home(t), "jdks", name+".json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("%s is not in the catalogue (%v); run make catalogue", name, err)
	}
	var j JDK
	if err := json.Unmarshal(data, &j); err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	return j
}
