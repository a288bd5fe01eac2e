package schedule

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Perturbation is a strategy with its seed and the parameters that differ from the defaults.
type Perturbation struct {
	Strategy   string             `json:"strategy"`
	Seed       uint64             `json:"seed"`
	Parameters map[string]float64 `json:"parameters,omitempty"`
}

// ErrInvalid is wrapped by errors about an unknown strategy and about a parameter that is unknown or out of its range.
var ErrInvalid = errors.New("invalid perturbation")

// Validate returns an error that names the wrong parameter and its range, or nil.
func (p Perturbation) Validate() error {
	_, err := p.Config()
	return err
}

// Config returns the configuration for the mechanism that carries the perturbation out; the error wraps ErrInvalid and names the
// parameter and its range.
func (p Perturbation) Config() (Config, error) {
	i := slices.IndexFunc(strategies, func(s Strategy) bool { return s.Name == p.Strategy })
	if i < 0 {
		var names []string
		for _, s := range strategies {
			names = append(names, s.Name)
		}
		return Config{}, fmt.Errorf("%w: unknown strategy %q: expected one of %s", ErrInvalid, p.Strategy,
			strings.Join(names, ", "))
	}
	s := strategies[i]
	values := map[string]float64{}
	parameters := s.All()
	for _, parameter := range parameters {
		values[parameter.Name] = parameter.Default
	}
	for _, name := range slices.Sorted(maps.Keys(p.Parameters)) {
		value := p.Parameters[name]
		j := slices.IndexFunc(parameters, func(x Parameter) bool { return x.Name == name })
		switch {
		case j < 0 && len(parameters) == 0:
			return Config{}, fmt.Errorf("%w: strategy %s takes no parameters: remove %q", ErrInvalid, s.Name, name)
		case j < 0:
			return Config{}, fmt.Errorf("%w: strategy %s has no parameter %q: expected one of %s", ErrInvalid, s.Name, name,
				names(parameters))
		case math.IsNaN(value) || value < parameters[j].Min || value > parameters[j].Max:
			return Config{}, fmt.Errorf("%w: %s %s = %s is not in %s", ErrInvalid, s.Name, name, Number(value),
				parameters[j].Range())
		case parameters[j].Whole && value != math.Trunc(value):
			return Config{}, fmt.Errorf("%w: %s %s = %v is not an integer", ErrInvalid, s.Name, name, value)
		}
		values[name] = value
	}
	if low, high := values["min_us"], values["max_us"]; low > high {
		return Config{}, fmt.Errorf("%w: %s min_us = %v is above max_us = %v", ErrInvalid, s.Name, low, high)
	}
	if from, until := values["from"], values["until"]; until != 0 && from >= until {
		return Config{}, fmt.Errorf("%w: %s from = %s leaves no decision before until = %s", ErrInvalid, s.Name, Number(from),
			Number(until))
	}
	c := Config{Seed: p.Seed, Strategy: uint32(s.kind)}
	c.Knobs.Order = uint32(orderFifo)
	c.Knobs.Target = 1 << 32
	c.Knobs.SliceLong = nanos(20000)
	s.apply(values, p.Seed, &c)
	confine(values, &c)
	return c, nil
}

func names(parameters []Parameter) string {
	var all []string
	for _, p := range parameters {
		all = append(all, p.Name)
	}
	return strings.Join(all, ", ")
}

// Plan returns the perturbation as the agent reads it: struct misstep_config of intf.h, little-endian.
func (p Perturbation) Plan() ([]byte, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, config); err != nil {
		return nil, fmt.Errorf("write the plan of a perturbation: %w", err)
	}
	return b.Bytes(), nil
}
