package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// schemaErrors holds a JSON value against the keywords that
// spec/report.schema.json uses; any other keyword is an error, so that the
// schema cannot say what nobody checks.
func schemaErrors(path string, schema map[string]any, v any) (errs []string) {
	bad := func(format string, args ...any) { errs = append(errs, path+": "+fmt.Sprintf(format, args...)) }
	for keyword, arg := range schema {
		switch keyword {
		case "$schema", "$id", "title", "description":
		case "const":
			if !reflect.DeepEqual(v, arg) {
				bad("%v is not %v", v, arg)
			}
		case "enum":
			if !slices.ContainsFunc(arg.([]any), func(x any) bool { return reflect.DeepEqual(v, x) }) {
				bad("%v is none of %v", v, arg)
			}
		case "type":
			if got := jsonType(v); got != arg {
				bad("%s is not %v", got, arg)
			}
		case "pattern":
			if s, is := v.(string); is && !regexp.MustCompile(arg.(string)).MatchString(s) {
				bad("%q does not match %v", s, arg)
			}
		case "required":
			for _, name := range arg.([]any) {
				if o, is := v.(map[string]any); is {
					if _, has := o[name.(string)]; !has {
						bad("%v is missing", name)
					}
				}
			}
		case "properties":
			for name, sub := range arg.(map[string]any) {
				if o, is := v.(map[string]any); is {
					if x, has := o[name]; has {
						errs = append(errs, schemaErrors(path+"/"+name, sub.(map[string]any), x)...)
					}
				}
			}
		case "additionalProperties":
			if arg != false {
				bad("additionalProperties %v", arg)
			}
			if o, is := v.(map[string]any); is {
				known, _ := schema["properties"].(map[string]any)
				for name := range o {
					if _, has := known[name]; !has {
						bad("%s is not in the schema", name)
					}
				}
			}
		case "items":
			if list, is := v.([]any); is {
				for i, x := range list {
					errs = append(errs, schemaErrors(fmt.Sprintf("%s/%d", path, i), arg.(map[string]any), x)...)
				}
			}
		default:
			bad("keyword %s, which this test does not hold", keyword)
		}
	}
	return errs
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func loadSchema(t *testing.T) map[string]any {
	t.Helper()
	b, err := os.ReadFile("../spec/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchema(t *testing.T) {
	s := loadSchema(t)
	for name, r := range samples() {
		var v any
		if err := json.Unmarshal(r.JSON(), &v); err != nil {
			t.Fatal(err)
		}
		for _, e := range schemaErrors("", s, v) {
			t.Errorf("%s%s", name, e)
		}
	}
}

// The schema refuses what it should: each edit breaks one keyword.
func TestSchemaRefuses(t *testing.T) {
	s := loadSchema(t)
	for name, edit := range map[string]func(map[string]any){
		"const":    func(m map[string]any) { m["mediaType"] = "x" },
		"enum":     func(m map[string]any) { m["overall"] = "valid" },
		"exit":     func(m map[string]any) { m["exit"] = 2.0 },
		"type":     func(m map[string]any) { m["headline"] = 1.0 },
		"missing":  func(m map[string]any) { delete(m, "facts") },
		"more":     func(m map[string]any) { m["more"] = true },
		"pattern":  func(m map[string]any) { m["checks"].([]any)[0].(map[string]any)["code"] = "ok" },
		"in items": func(m map[string]any) { delete(m["checks"].([]any)[0].(map[string]any), "law") },
	} {
		var v map[string]any
		if err := json.Unmarshal(samples()["full"].JSON(), &v); err != nil {
			t.Fatal(err)
		}
		edit(v)
		if len(schemaErrors("", s, v)) == 0 {
			t.Errorf("%s passes", name)
		}
	}
}
