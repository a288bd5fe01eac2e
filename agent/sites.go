package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"misstep/internal/regular"
)

// FileSites is the name of the file of sites in the agent's folder.
const FileSites = "sites.bin"

// MaxSitesBytes is the size of the largest sites.bin.
const MaxSitesBytes = sitesMostBytes

// maxSitesMemory bounds the memory that Sites take, in bytes.
const maxSitesMemory = 512 << 20

// ErrSites is wrapped by errors about a file that is not a sites.bin of this version of the agent.
var ErrSites = errors.New("not a file of sites of this agent")

// Sites are the classes as the JVM ran them, by what their methods' instructions can call (option sites): the content of sites.bin.
type Sites struct {
	// Classes in the order in which they were prepared. A class is there again when it was redefined, and by the end of the JVM has
	// other code; so is one that another loader has with other code.
	Classes []SiteClass
	// Redefined are the names of classes that were redefined or retransformed.
	Redefined []string
	// Full says that classes are missing since the file was as large as it may be, or would take more memory than it may. Cut
	// is the number of bytes of an unfinished record at the end.
	Full bool
	Cut  int
}

// SiteClass is one class. Names of classes have slashes, "package/Class"; those of hidden ones are JVMTI's.
type SiteClass struct {
	// Super is empty for java/lang/Object.
	Name, Super string
	Interface   bool
	Targets     []SiteTarget
	Methods     []SiteMethod
}

// SiteTarget is the method that an invoke names.
type SiteTarget struct {
	// Owner is empty for invokedynamic.
	Owner, Name, Descriptor string
	// Polymorphic: a signature-polymorphic method (JVMS 2.9.3) or invokedynamic.
	Polymorphic bool
}

// SiteMethod is one method.
type SiteMethod struct {
	Name, Descriptor string
	Native, Static   bool
	// Upcall is for what the VM itself may call it, 0 for nothing.
	Upcall Occasions
	// Code has the instructions at which a frame can stand below another one, by bci; nil for a method without code.
	Code []Site
}

// Site is an instruction at which a frame can stand below another one.
type Site struct {
	BCI uint16
	// Occasions are what the VM may do there.
	Occasions Occasions
	// Opcode of an invoke, else 0. Target is an index into the class's targets, -1 for none.
	Opcode uint8
	Target int32
}

// Occasions are what the VM may do while a frame is at an instruction, and for what it calls a method: a set. A method may be
// called at an instruction if the two sets have something in common. agent/native/src/upcalls.cpp has the rules.
type Occasions uint8

// The occasions.
const (
	Initialising Occasions = 1 << iota // a class is initialised
	Resolving                          // something is resolved, or thrown
	Linking                            // a call site or a constant is linked
	Finalising                         // an object with a finalizer is registered
	Comparing                          // two references are compared
	Compiling                          // the method is to be compiled: at its entry, and where it branches back
)

// ReadSites reads sites.bin, while the JVM runs or after its death. For a file of another format the error wraps ErrSites.
func ReadSites(path string) (Sites, error) {
	f, err := regular.Open(path)
	if err != nil {
		return Sites{}, fmt.Errorf("read sites: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, sitesMostBytes))
	if err != nil {
		return Sites{}, fmt.Errorf("read sites %s: %w", path, err)
	}
	s, err := ParseSites(data)
	if err != nil {
		return Sites{}, fmt.Errorf("read sites %s: %w", path, err)
	}
	return s, nil
}

// ParseSites parses the bytes of sites.bin.
func ParseSites(data []byte) (Sites, error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) != sitesMagic {
		return Sites{}, fmt.Errorf("%w: wrong magic number", ErrSites)
	}
	var s Sites
	r := sitesReader{sites: &s, left: maxSitesMemory}
	for at := 8; at < len(data); {
		size, n := binary.Uvarint(data[at+1:])
		if n == 0 || n > 0 && size > uint64(len(data)-at-1-n) {
			s.Cut = len(data) - at
			break
		}
		if n < 0 {
			return Sites{}, fmt.Errorf("%w: the record at byte %d has no size", ErrSites, at)
		}
		begin := at + 1 + n
		r.rest, r.err = data[begin:begin+int(size)], nil
		r.record(data[at])
		if errors.Is(r.err, errSitesRoom) {
			s.Full = true
			break
		}
		if r.err != nil {
			return Sites{}, fmt.Errorf("%w: the record at byte %d: %w", ErrSites, at, r.err)
		}
		at = begin + int(size)
	}
	return s, nil
}
