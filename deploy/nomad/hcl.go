package nomad

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"
)

// HCL writes a job in the language of Nomad's job files, for those who run it by `nomad job run` or keep it in a repository.
func HCL(job *api.Job) (string, error) {
	file := hclwrite.NewEmptyFile()
	body := file.Body().AppendNewBlock("job", []string{*job.ID}).Body()
	if err := write(body, reflect.ValueOf(*job), "id", "name"); err != nil {
		return "", fmt.Errorf("job %s as HCL: %w", *job.ID, err)
	}
	// hclwrite escapes each interpolation, since HCL would evaluate it. Those that Nomad leaves to its clients are written as
	// people do.
	return interpolations.Replace(string(file.Bytes())), nil
}

var interpolations = strings.NewReplacer(
	"$${attr.", "${attr.", "$${node.", "${node.", "$${meta.", "${meta.", "$${NOMAD_", "${NOMAD_",
)

// write adds the fields of a struct that have a value, by the tags that name them in HCL, except those left out.
func write(body *hclwrite.Body, v reflect.Value, without ...string) error {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("hcl")
		name, kind, _ := strings.Cut(tag, ",")
		if tag == "" || kind == "label" || slices.Contains(without, name) || v.Field(i).IsZero() {
			continue
		}
		if err := field(body, v.Field(i), name, kind); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func field(body *hclwrite.Body, v reflect.Value, name, kind string) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case v.Type() == reflect.TypeFor[[]*api.NetworkResource]():
		for _, n := range v.Interface().([]*api.NetworkResource) {
			network(body.AppendNewBlock(name, nil).Body(), n)
		}
		return nil
	case kind != "block":
		value, err := valueOf(v)
		if err == nil {
			body.SetAttributeValue(name, value)
		}
		return err
	case v.Kind() == reflect.Struct:
		return write(body.AppendNewBlock(name, nil).Body(), v)
	case v.Kind() == reflect.Map:
		return entries(body.AppendNewBlock(name, nil).Body(), v)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			one := reflect.Indirect(v.Index(i))
			if err := write(body.AppendNewBlock(name, labels(one)).Body(), one); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a block of type %s is not supported", v.Type())
}

func entries(body *hclwrite.Body, v reflect.Value) error {
	all := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		all[k.String()] = v.MapIndex(k)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		v := all[key]
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		value, err := valueOf(v)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		body.SetAttributeValue(key, value)
	}
	return nil
}

// labels are the values of the fields that are a block's labels.
func labels(v reflect.Value) (all []string) {
	for i := range v.NumField() {
		if strings.HasSuffix(v.Type().Field(i).Tag.Get("hcl"), ",label") {
			all = append(all, reflect.Indirect(v.Field(i)).String())
		}
	}
	return all
}

// network writes static ports as people do: a port with a number. The API has them in a list of their own.
func network(body *hclwrite.Body, n *api.NetworkResource) {
	for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
		port := body.AppendNewBlock("port", []string{p.Label}).Body()
		if p.Value != 0 {
			port.SetAttributeValue("static", cty.NumberIntVal(int64(p.Value)))
		}
	}
}

func valueOf(v reflect.Value) (cty.Value, error) {
	v = reflect.Indirect(v)
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return cty.StringVal(time.Duration(v.Int()).String()), nil
	case v.Kind() == reflect.String:
		return cty.StringVal(v.String()), nil
	case v.Kind() == reflect.Bool:
		return cty.BoolVal(v.Bool()), nil
	case v.CanInt():
		return cty.NumberIntVal(v.Int()), nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String:
		if v.Len() == 0 {
			return cty.ListValEmpty(cty.String), nil
		}
		var all []cty.Value
		for i := range v.Len() {
			all = append(all, cty.StringVal(v.Index(i).String()))
		}
		return cty.ListVal(all), nil
	}
	return cty.NilVal, fmt.Errorf("a value of type %s is not supported", v.Type())
}
