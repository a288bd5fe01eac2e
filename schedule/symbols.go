package schedule

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// symbols are a program's functions, to name addresses in it.
type symbols []elf.Symbol

// pieBase is where Linux loads a position-independent program on x86-64 when addresses are fixed (ELF_ET_DYN_BASE), before
// alignment.
const pieBase = 0x555555554000

// symbolsOf reads the functions of the program that a log's command names. If that is not a regular file, was stripped, or has no
// known address, it returns none, which is not an error: addresses then have no names.
func symbolsOf(h Header) (s symbols) {
	if len(h.Command) == 0 {
		return nil
	}
	path, err := exec.LookPath(h.Command[0])
	if err != nil {
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	defer func() {
		if recover() != nil { // debug/elf guarantees nothing about hostile files
			s = nil
		}
	}()
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	base, ok := loadedAt(f, h.FixedAddresses)
	all, err := f.Symbols()
	if err != nil || !ok {
		return nil
	}
	for _, x := range all {
		if elf.ST_TYPE(x.Info) == elf.STT_FUNC {
			x.Value += base
			s = append(s, x)
		}
	}
	slices.SortFunc(s, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return s
}

// loadedAt returns the offset that is added to a program's addresses when it is loaded, if that is known.
func loadedAt(f *elf.File, fixed bool) (base uint64, known bool) {
	if f.Type != elf.ET_DYN {
		return 0, true
	}
	interpreted, align := false, uint64(page)
	for _, p := range f.Progs {
		interpreted = interpreted || p.Type == elf.PT_INTERP
		if p.Type == elf.PT_LOAD {
			align = max(align, p.Align)
		}
	}
	return pieBase &^ (align - 1), fixed && interpreted // a static program is loaded among the libraries
}

// name returns "function+0x12", or only the address if no function is known.
func (s symbols) name(address uint64) string {
	i, exact := slices.BinarySearchFunc(s, address, func(x elf.Symbol, a uint64) int { return cmp.Compare(x.Value, a) })
	if !exact {
		i--
	}
	if i < 0 || address-s[i].Value >= max(1, s[i].Size) {
		return fmt.Sprintf("%#x", address)
	}
	return fmt.Sprintf("%s+%#x", Printable(s[i].Name), address-s[i].Value)
}
