package recording

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"runtime/pprof"
	"sort"
	"strings"
	"testing"
	"time"
)

func dump(r Record) (string, bool) {
	switch r := r.(type) {
	case *Event:
		var b strings.Builder
		c := *r
		th := ""
		if c.Thread != nil {
			th = fmt.Sprintf("%+v", *c.Thread)
		}
		st := ""
		if c.Stack != nil {
			fmt.Fprintf(&b, "%d %v %v", c.Stack.Constant, c.Stack.Truncated, c.Stack.Cut)
			for _, f := range c.Stack.Frames {
				if f.Method != nil {
					fmt.Fprintf(&b, "|%d %d %d %+v", f.BCI, f.Line, f.Kind, *f.Method)
				} else {
					fmt.Fprintf(&b, "|%d %d %d nil", f.BCI, f.Line, f.Kind)
				}
			}
			st = b.String()
		}
		c.Thread, c.Stack = nil, nil
		return fmt.Sprintf("%+v T%s S%s", c, th, st), true
	case *Fault:
		return "", false
	case *Lost:
		return fmt.Sprintf("Lost %d %d %+v", r.StartNanos, r.Samples, r.Thread), true
	case *Chunk, *Setting, *Problem:
		return fmt.Sprintf("%T %+v", r, reflect.ValueOf(r).Elem().Interface()), true
	default:
		return fmt.Sprintf("%T %+v", r, reflect.ValueOf(r).Elem().Interface()), false
	}
}

func TestCmp(t *testing.T) {
	limits := Limits{HeapBytes: 384 << 20, ChunkBytes: 128 << 20, OutputBytes: 1 << 40, Bytes: 1 << 40}
	for _, file := range strings.Fields(os.Getenv("CMP")) {
		read := func(how func(v func(Record) error) Summary) (ordered, sets []string, s Summary) {
			s = how(func(r Record) error {
				d, o := dump(r)
				if o {
					ordered = append(ordered, d)
				} else if d != "" {
					sets = append(sets, d)
				}
				return nil
			})
			sort.Strings(sets)
			return
		}
		o1, s1, m1 := read(func(v func(Record) error) Summary {
			h := Helper{Java: os.Getenv("JAVA_HOME") + "/bin/java", Jar: os.Getenv("CMP_JAR")}
			s, _, err := h.Read(context.Background(), file, limits, v)
			if err != nil {
				t.Log(file, err)
			}
			return s
		})
		o2, s2, m2 := read(func(v func(Record) error) Summary {
			s, err := Parse(context.Background(), file, limits, v)
			if err != nil {
				t.Error(file, err)
			}
			return s
		})
		if !reflect.DeepEqual(m1, m2) {
			t.Errorf("%s: summaries %+v\n%+v", file, m1, m2)
		}
		diff := func(what string, a, b []string) {
			n := 0
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					n++
					if n < 4 {
						t.Errorf("%s %s %d:\n%.1500s\n%.1500s", file, what, i, a[i], b[i])
					}
				}
			}
			t.Log(file, what, len(a), len(b), "differ", n)
			if n > 0 || len(a) != len(b) {
				t.Fail()
			}
		}
		diff("ordered", o1, o2)
		diff("sets", s1, s2)
	}
}

func TestSpeed(t *testing.T) {
	file := os.Getenv("SPEED")
	if file == "" {
		t.Skip()
	}
	if p := os.Getenv("PROF"); p != "" {
		f, _ := os.Create(p)
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	began := time.Now()
	n := 0
	s, err := Parse(context.Background(), file, Limits{Bytes: 1 << 40, ChunkBytes: 128 << 20}, func(r Record) error { n++; return nil })
	info, _ := os.Stat(file)
	d := time.Since(began)
	t.Log(n, s.Events, err, d, float64(info.Size())/1e6/d.Seconds(), "MB/s")
}
