package kernel

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxImage bounds what is unpacked from a kernel image, bytes.
const maxImage = 1 << 30

// extract copies the needed files of the unpacked packages below root into the new folder dir.
func extract(root, dir, release string) error {
	if err := os.MkdirAll(filepath.Join(dir, modulesPath), 0o755); err != nil {
		return fmt.Errorf("making the kernel's folder: %w", err)
	}
	tree := filepath.Join(root, "usr/lib/modules", release)
	if _, err := os.Stat(tree); err != nil { // before Debian's merge of /usr
		tree = filepath.Join(root, "lib/modules", release)
	}
	config, err := readFirst(filepath.Join(tree, "config"), filepath.Join(root, "boot/config-"+release))
	if err != nil {
		return err
	}
	if err := checkConfig(config); err != nil {
		return fmt.Errorf("kernel %s: %w", release, err)
	}
	image, err := readFirst(filepath.Join(tree, "vmlinuz"), filepath.Join(root, "boot/vmlinuz-"+release))
	if err != nil {
		return err
	}
	vmlinux, err := unpackImage(image)
	if err != nil {
		return fmt.Errorf("kernel %s: %w", release, err)
	}
	files := map[string][]byte{configFile: config, imageFile: image, elfFile: vmlinux}
	for _, name := range Modules {
		module, err := readModule(tree, name)
		if err != nil {
			return fmt.Errorf("kernel %s: %w", release, err)
		}
		files[filepath.Join(modulesPath, name+".ko")] = module
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("writing the kernel's files: %w", err)
		}
	}
	return nil
}

func readFirst(paths ...string) ([]byte, error) {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil {
			return data, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("reading the kernel's packages: %w", err)
		}
	}
	return nil, fmt.Errorf("the kernel's packages hold none of %s: their layout has changed", strings.Join(paths, ", "))
}

func checkConfig(config []byte) error {
	have := map[string]bool{}
	for line := range bytes.Lines(config) {
		have[strings.TrimSpace(string(line))] = true
	}
	var missing []string
	for _, option := range required {
		if !have[option] {
			missing = append(missing, option)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("its configuration lacks %s", strings.Join(missing, ", "))
	}
	return nil
}

// unpackImage returns the ELF kernel inside a bzImage (Documentation/arch/x86/boot.rst, payload): one zstd frame.
func unpackImage(image []byte) ([]byte, error) {
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for at := 0; ; at++ {
		next := bytes.Index(image[min(at, len(image)):], magic)
		if next < 0 {
			return nil, errors.New("no zstd frame with an ELF file in the kernel image: it is not compressed as Debian's " +
				"usually are")
		}
		at += next
		decoder, err := zstd.NewReader(bytes.NewReader(image[at:]), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(maxImage))
		if err != nil {
			return nil, fmt.Errorf("unpacking the kernel image: %w", err)
		}
		// What follows the frame is not zstd, so an error after the payload is expected; the ELF reader detects an incomplete
		// payload.
		var out bytes.Buffer
		_, _ = io.Copy(&out, io.LimitReader(decoder, maxImage))
		decoder.Close()
		if file, err := elf.NewFile(bytes.NewReader(out.Bytes())); err == nil {
			if file.Section(".BTF") == nil {
				return nil, errors.New("the kernel holds no BTF")
			}
			return out.Bytes(), nil
		}
	}
}

// readModule returns a module, uncompressed.
func readModule(tree, name string) ([]byte, error) {
	var path string
	err := filepath.WalkDir(filepath.Join(tree, "kernel"), func(p string, entry os.DirEntry, err error) error {
		base := filepath.Base(p)
		if err == nil && !entry.IsDir() && (base == name+".ko" || base == name+".ko.xz" || base == name+".ko.zst") {
			path = p
			return filepath.SkipAll
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for module %s: %w", name, err)
	}
	if path == "" {
		return nil, fmt.Errorf("module %s is not in the kernel's packages", name)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading module %s: %w", name, err)
	}
	var reader io.Reader = bytes.NewReader(data)
	switch filepath.Ext(path) {
	case ".xz":
		if reader, err = xz.NewReader(reader); err != nil {
			return nil, fmt.Errorf("unpacking module %s: %w", name, err)
		}
	case ".zst":
		decoder, err := zstd.NewReader(reader)
		if err != nil {
			return nil, fmt.Errorf("unpacking module %s: %w", name, err)
		}
		defer decoder.Close()
		reader = decoder
	}
	out, err := io.ReadAll(io.LimitReader(reader, maxImage))
	if err != nil {
		return nil, fmt.Errorf("unpacking module %s: %w", name, err)
	}
	if !bytes.HasPrefix(out, []byte(elf.ELFMAG)) {
		return nil, fmt.Errorf("unpacking module %s: the result is not an ELF file", name)
	}
	return out, nil
}
