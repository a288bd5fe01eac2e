package main

import (
	"errors"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Tags of flags and arguments that say which values are allowed; checkGiven holds them.
const (
	// tagWithin is an interval of numbers or durations: [1,) is 1 or more, (0s,) a duration above 0, any all that the type has.
	// Every flag and argument with a number has it.
	tagWithin = "within"
	// tagAddress is the form of an address, addressTCP or addressGDB.
	tagAddress = "address"

	addressTCP = "HOST:PORT"
	addressGDB = "tcp:HOST:PORT"

	withinAny = "any"
)

// checkGiven returns an error that names the first flag or argument given on the command line with a value that is not allowed.
func checkGiven(command *kong.Context) error {
	for _, given := range command.Path {
		var value *kong.Value
		var name string
		switch {
		case given.Flag != nil:
			value, name = given.Flag.Value, "--"+given.Flag.Name
		case given.Positional != nil:
			value, name = given.Positional, given.Positional.Name
		default:
			continue
		}
		err := checkEmpty(value.Target)
		if err == nil {
			err = checkValue(value, value.Target)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// errEmpty is the error of a value that is given and empty, which no flag or argument takes.
var errEmpty = errors.New("want a value, got an empty one: a variable of the shell may be unset")

// checkEmpty returns an error when a string, or one of several, is empty.
func checkEmpty(v reflect.Value) error {
	texts, several := reflect.TypeAssert[[]string](v)
	if !several && v.Kind() == reflect.String {
		texts = []string{v.String()}
	}
	if slices.Contains(texts, "") {
		return errEmpty
	}
	return nil
}

// pathMapper reads paths as kong does, but no empty one, which kong takes for the working folder.
type pathMapper struct{ kongs *kong.Registry }

// Decode implements kong.Mapper.
func (m pathMapper) Decode(c *kong.DecodeContext, target reflect.Value) error {
	if c.Scan.Peek().Value == "" {
		if len(c.Value.Tag.Envs) == 0 {
			return errEmpty
		}
		c.Scan.Pop() // an empty variable of the environment is as one that is not set
		return nil
	}
	return m.kongs.ForNamedValue("path", target).Decode(c, target)
}

// checkValue checks the value of a flag or argument by its tags.
func checkValue(value *kong.Value, v reflect.Value) error {
	if value.Tag.Has(tagAddress) {
		given, several := reflect.TypeAssert[[]string](v)
		if !several && v.String() != "" {
			given = []string{v.String()}
		}
		for _, address := range given {
			if err := checkAddress(value.Tag.Get(tagAddress), address); err != nil {
				return err
			}
		}
	}
	if !value.Tag.Has(tagWithin) || value.Tag.Get(tagWithin) == withinAny {
		return nil
	}
	i, err := parseInterval(value.Tag.Get(tagWithin), isDuration(v))
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if err == nil && v.IsValid() { // not a pointer to nothing: the flag was not given
		err = i.check(v)
	}
	return err
}

// isDuration reports whether a value, or what a pointer may point to, is a duration.
func isDuration(v reflect.Value) bool {
	t := v.Type()
	return t == reflect.TypeFor[time.Duration]() || t == reflect.TypeFor[*time.Duration]()
}

// negativeRE matches what the parser says of a negative number in the place of an argument, which it takes for a flag.
var negativeRE = regexp.MustCompile(`^unknown flag (-\d)`)

// explainNegative says instead which numbers the argument takes.
func explainNegative(parse *kong.ParseError, args []string) error {
	said := negativeRE.FindStringSubmatch(parse.Error())
	if said == nil || parse.Context.Selected() == nil {
		return parse
	}
	given := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, said[1]) })
	if given < 0 { // one of several flags in one word
		return parse
	}
	for _, value := range parse.Context.Selected().Positional {
		if i, err := parseInterval(value.Tag.Get(tagWithin), isDuration(value.Target)); err == nil {
			return fmt.Errorf("%s: want a value %s, got %s", value.Name, i, args[given])
		}
	}
	return parse
}

// interval is a range of numbers; of durations, of nanoseconds. An empty bound is none.
type interval struct {
	low, high         string
	lowOpen, highOpen bool
	number            func(string) (float64, error)
}

func parseInterval(text string, durations bool) (interval, error) {
	number := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	if durations {
		number = func(s string) (float64, error) {
			d, err := parseTime(s)
			return float64(d), err
		}
	}
	low, high, found := strings.Cut(text, ",")
	if !found || low == "" || high == "" || !strings.Contains("[(", low[:1]) || !strings.Contains("])", high[len(high)-1:]) {
		return interval{}, fmt.Errorf("%q is no interval", text)
	}
	i := interval{low[1:], high[:len(high)-1], low[0] == '(', high[len(high)-1] == ')', number}
	for _, bound := range []string{i.low, i.high} {
		if bound == "" {
			continue
		}
		if _, err := number(bound); err != nil {
			return interval{}, fmt.Errorf("%q is no interval: %w", text, err)
		}
	}
	return i, nil
}

func (i interval) check(v reflect.Value) error {
	var x float64
	switch {
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	case v.CanFloat():
		x = v.Float()
	}
	above, below := true, true // of a value that is not a number all comparisons are false
	if low, err := i.number(i.low); err == nil {
		above = x > low || x == low && !i.lowOpen
	}
	if high, err := i.number(i.high); err == nil {
		below = x < high || x == high && !i.highOpen
	}
	if above && below {
		return nil
	}
	return fmt.Errorf("want a value %s, got %v", i, v.Interface())
}

// String is the interval in words.
func (i interval) String() string {
	var words []string
	if i.low != "" {
		words = append(words, map[bool]string{true: "above ", false: "at least "}[i.lowOpen]+i.low)
	}
	if i.high != "" {
		words = append(words, map[bool]string{true: "below ", false: "at most "}[i.highOpen]+i.high)
	}
	return strings.Join(words, " and ")
}

func checkAddress(form, address string) error {
	example := "127.0.0.1:7867"
	rest, ok := address, true
	if form == addressGDB {
		example = "tcp:127.0.0.1:1234"
		rest, ok = strings.CutPrefix(address, "tcp:")
	}
	_, port, err := net.SplitHostPort(rest)
	if n, parseErr := strconv.ParseUint(port, 10, 16); !ok || err != nil || parseErr != nil || n == 0 && form == addressGDB {
		return fmt.Errorf("want %s, such as %s, got %q", form, example, address)
	}
	return nil
}
