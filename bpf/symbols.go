package bpf

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os/exec"
	"slices"
)

// symbols of a program, to name addresses in it.
type symbols []elf.Symbol

// pieBase is where Linux loads a position-independent program on x86-64 when addresses are fixed (ELF_ET_DYN_BASE).
const pieBase = 0x555555554000

// symbolsOf reads a program's functions; of one that cannot be read or was stripped there are none, which is no error: addresses have no names then.
func symbolsOf(command []string) (s symbols) {
	if len(command) == 0 {
		return nil
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		return nil
	}
	for _, x := range all {
		if elf.ST_TYPE(x.Info) == elf.STT_FUNC {
			if f.Type == elf.ET_DYN {
				x.Value += pieBase
			}
			s = append(s, x)
		}
	}
	slices.SortFunc(s, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return s
}

// name is "function+0x12", or the address alone where no function is known.
func (s symbols) name(address uint64) string {
	i, exact := slices.BinarySearchFunc(s, address, func(x elf.Symbol, a uint64) int { return cmp.Compare(x.Value, a) })
	if !exact {
		i--
	}
	if i < 0 || address-s[i].Value >= max(1, s[i].Size) {
		return fmt.Sprintf("%#x", address)
	}
	return fmt.Sprintf("%s+%#x", printable(s[i].Name), address-s[i].Value)
}
