package preview

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat/report"
	"pgregory.net/rapid"
)

// TestParseRefuses changes one place of a good ρ at a time.
func TestParseRefuses(t *testing.T) {
	exec := string(must(anExec().Seal(testSecret)).JSON())
	files := string(must(someFiles().Seal(testSecret)).JSON())
	plain := anExec()
	plain.Effects, plain.Reads, plain.Slots = nil, nil, nil
	bare := string(must(plain.Seal(testSecret)).JSON())
	hexOf := strings.Repeat("0", 64)
	sealed := func(p Preview) string { return string(must(p.Seal(testSecret)).JSON()) }
	http, tool, render, undo := sealed(anHTTP()), sealed(aTool()), sealed(aRender()), sealed(anUndo())
	change := `"intent":{"changes":[{"after":{"b3":"` + hexOf + `"},"before":null,"mode":null,"path":"a"}],`
	tests := []struct {
		name, doc, old, new string
		code                report.Code
	}{
		{"no object", exec, exec, `[]`, report.CodePreviewSchema},
		{"trailing", exec, exec, exec + "x", report.CodeJSONTrailing},
		{"no verb", exec, `,"verb":"exec"`, ``, report.CodePreviewSchema},
		{"no task", exec, `,"task_id":"release/42"`, ``, report.CodePreviewSchema},
		{"no attempt", exec, `"attempt":2,`, ``, report.CodePreviewSchema},
		{"no inputs", exec, `"inputs":{"blob":{"b64":"wyg="},"user":"ci"},`, ``, report.CodePreviewSchema},
		{"another member", exec, `"attempt":2`, `"attempt":2,"actor":"x"`, report.CodePreviewSchema},
		{"verb case", exec, `"verb"`, `"Verb"`, report.CodePreviewSchema},
		{"verb twice", exec, `"verb":"exec"`, `"verb":"exec","ver\u0062":"exec"`, report.CodeJSONNameTwice},
		{"verb no name", exec, `"verb":"exec"`, `"verb":"ex ec"`, report.CodePreviewSchema},
		{"verb no text", exec, `"verb":"exec"`, `"verb":null`, report.CodePreviewSchema},
		{"verb of another", exec, `"verb":"exec"`, `"verb":"files"`, report.CodePreviewSchema},
		{"files as exec", files, `"verb":"files"`, `"verb":"exec"`, report.CodePreviewIntent},
		{"task empty", exec, `"release/42"`, `""`, report.CodePreviewSchema},
		{"task no name", exec, `"release/42"`, `"release 42"`, report.CodePreviewSchema},
		{"task number", exec, `"release/42"`, `42`, report.CodePreviewSchema},
		{"attempt 0", exec, `"attempt":2`, `"attempt":0`, report.CodePreviewSchema},
		{"attempt negative", exec, `"attempt":2`, `"attempt":-2`, report.CodePreviewSchema},
		{"attempt fraction", exec, `"attempt":2`, `"attempt":2.5`, report.CodePreviewSchema},
		{"attempt spelling", exec, `"attempt":2`, `"attempt":2.0`, report.CodeJSONNumber},
		{"attempt 2^53", exec, `"attempt":2`, `"attempt":9007199254740992`, report.CodePreviewSchema},
		{"attempt huge", exec, `"attempt":2`, `"attempt":1e+300`, report.CodePreviewSchema},
		{"attempt text", exec, `"attempt":2`, `"attempt":"2"`, report.CodePreviewSchema},

		{"ctx no object", bare, `"task_id":"release/42"`, `"task_id":"release/42","ctx":{}`, report.CodeJSONNameTwice},
		{"no blind", exec, `"blind"`, `"blend"`, report.CodePreviewSchema},
		{"blind upper", exec, `"blind":"b`, `"blind":"B`, report.CodePreviewContext},
		{"blind short", exec, `"blind":"b`, `"blind":"`, report.CodePreviewContext},
		{"blind number", exec, `"lock":"`, `"lock":7,"x":"`, report.CodePreviewSchema},
		{"pin upper", exec, `"lock":"1e20`, `"lock":"1E20`, report.CodePreviewSpelling},
		{"pin function", exec, `"lock":"1e20`, `"lock":"1b20`, report.CodePreviewContext},
		{"pin short", exec, `"lock":"1e2004`, `"lock":"1e20`, report.CodePreviewContext},
		{"approval empty", exec, `"two-persons"`, `""`, report.CodePreviewContext},
		{"approval null", exec, `"two-persons"`, `null`, report.CodePreviewSchema},
		{"ctx unknown", exec, `"lock":`, `"luck":`, report.CodePreviewSchema},

		{"input null", exec, `"user":"ci"`, `"user":null`, report.CodePreviewValue},
		{"input number", exec, `"user":"ci"`, `"user":1`, report.CodePreviewValue},
		{"input name", exec, `"user":"ci"`, `"us er":"ci"`, report.CodePreviewSchema},
		{"input content", exec, `"user":"ci"`, `"user":{"b3":"` + hexOf + `"}`, report.CodePreviewValue},
		{"b64 of text", exec, `"user":"ci"`, `"user":{"b64":"Y2k="}`, report.CodePreviewValue},
		{"b64 of nothing", exec, `"user":"ci"`, `"user":{"b64":""}`, report.CodePreviewValue},
		{"b64 unpadded", exec, `"wyg="`, `"wyg"`, report.CodePreviewValue},
		{"b64 spare bits", exec, `"wyg="`, `"wyh="`, report.CodePreviewValue},
		{"b64 URL", exec, `"//4="`, `"__4="`, report.CodePreviewValue},
		{"b64 line break", exec, `"wyg="`, `"wy\ng="`, report.CodePreviewValue},
		{"b64 and more", exec, `{"b64":"wyg="}`, `{"b64":"wyg=","x":1}`, report.CodePreviewValue},
		{"lone surrogate", exec, `"user":"ci"`, `"user":"\udc80"`, report.CodeJSONSurrogate},

		{"intent no object", exec, `,"verb":"exec"`, `,"verb":"exec","intent":[]`, report.CodeJSONNameTwice},
		{"intent unknown", exec, `"stdin":`, `"umask":"022","stdin":`, report.CodePreviewSchema},
		{"argv empty", bare, `["git","commit","-m","näher\n",{"b64":"//4="}]`, `[]`, report.CodePreviewIntent},
		{"argv text", exec, `["git","commit","-m","näher\n",{"b64":"//4="}]`, `"git commit"`, report.CodePreviewSchema},
		{"argv null", exec, `"commit"`, `null`, report.CodePreviewValue},
		{"argv NUL", exec, `"commit"`, `"com\u0000mit"`, report.CodePreviewIntent},
		{"env list", exec, `"EMPTY":""`, `"EMPTY":[]`, report.CodePreviewValue},
		{"env name", exec, `"EMPTY"`, `"EM=PTY"`, report.CodePreviewIntent},
		{"env NUL", exec, `"EMPTY":""`, `"EMPTY":"\u0000"`, report.CodePreviewIntent},
		{"cwd empty", exec, `"cwd":"repo"`, `"cwd":""`, report.CodePreviewPath},
		{"cwd up", exec, `"cwd":"repo"`, `"cwd":"../repo"`, report.CodePreviewPath},
		{"cwd absolute", exec, `"cwd":"repo"`, `"cwd":"/srv/work/repo"`, report.CodePreviewPath},
		{"cwd dot slash", exec, `"cwd":"repo"`, `"cwd":"./repo"`, report.CodePreviewPath},
		{"root relative", exec, `"root":"/srv/work"`, `"root":"srv/work"`, report.CodePreviewPath},
		{"program absent", exec, `"program":{"content":`, `"program":{"content":null,"was":`, report.CodePreviewSchema},
		{"program null", exec, `"path":"/usr/bin/git"`, `"path":"/"`, report.CodePreviewIntent},
		{"stdin text", exec, `"stdin":{"b3"`, `"stdin":{"b64"`, report.CodePreviewValue},
		{"stdin of nothing", exec, `"stdin":{"b3":"` + strings.TrimPrefix(ContentOf([]byte("input")).Value().String(), "b3:"), `"stdin":{"b3":"` + strings.TrimPrefix(ContentOf(nil).Value().String(), "b3:"), report.CodePreviewSpelling},

		{"effects empty", bare, `"intent":{`, `"intent":{"effects":[],`, report.CodePreviewSpelling},
		{"slots empty", bare, `"intent":{`, `"intent":{"slots":{},`, report.CodePreviewSpelling},
		{"changes empty", bare, `"intent":{`, `"intent":{"changes":[],`, report.CodePreviewIntent},
		{"changes under exec", bare, `"intent":{`, `"intent":{"changes":[{"after":{"b3":"` + hexOf + `"},"before":null,"mode":null,"path":"a"}],`, report.CodePreviewIntent},
		{"effect order", exec, `{"on":"exec","target":"/usr/bin/git"},{"on":"writes","target":"repo/.git"}`, `{"on":"writes","target":"repo/.git"},{"on":"exec","target":"/usr/bin/git"}`, report.CodePreviewSpelling},
		{"effect twice", exec, `{"on":"exec","target":"/usr/bin/git"},`, `{"on":"exec","target":"/usr/bin/git"},{"on":"exec","target":"/usr/bin/git"},`, report.CodePreviewTwice},
		{"effect word", exec, `"on":"exec"`, `"on":"EXEC"`, report.CodePreviewSchema},
		{"effect more", exec, `"on":"exec"`, `"by":"x","on":"exec"`, report.CodePreviewSchema},
		{"read no seen", exec, `,"seen":null`, ``, report.CodePreviewSchema},
		{"read seen text", exec, `"seen":null`, `"seen":"x"`, report.CodePreviewValue},
		{"read more", exec, `"seen":null`, `"seen":null,"was":1`, report.CodePreviewSchema},
		{"slot no source", exec, `"source":"model",`, ``, report.CodePreviewSchema},
		{"slot more", exec, `"source":"model"`, `"source":"model","sure":true`, report.CodePreviewSchema},
		{"slot text", exec, `{"source":"model","value":"näher\n"}`, `"näher"`, report.CodePreviewSchema},

		{"files no changes", files, `"changes":[`, `"chances":[`, report.CodePreviewSchema},
		{"change no list", files, `"intent":{"changes":[`, `"intent":{"changes":{},"x":[`, report.CodePreviewSchema},
		{"change no mode", files, `,"mode":"755"`, ``, report.CodePreviewSchema},
		{"change mode empty", files, `"mode":"755"`, `"mode":""`, report.CodePreviewIntent},
		{"change mode number", files, `"mode":"755"`, `"mode":755`, report.CodePreviewIntent},
		{"change mode setuid", files, `"mode":"755"`, `"mode":"4755"`, report.CodePreviewIntent},
		{"change more", files, `"mode":"755"`, `"mode":"755","owner":"root"`, report.CodePreviewSchema},
		{"change path up", files, `"bin/run"`, `"../bin/run"`, report.CodePreviewPath},
		{"change order", files, `"bin/run"`, `"z"`, report.CodePreviewSpelling},
		{"change twice", files, `"bin/run"`, `"gone"`, report.CodePreviewTwice},
		{"b3 upper", files, `{"b3":"a`, `{"b3":"A`, report.CodePreviewValue},
		{"b3 short", files, `{"b3":"a`, `{"b3":"`, report.CodePreviewValue},
		{"b3 and more", files, `"before":null`, `"before":{"b3":"` + hexOf + `","size":0}`, report.CodePreviewValue},
		{"before false", files, `"before":null`, `"before":false`, report.CodePreviewValue},

		{"method case", http, `"POST"`, `"post"`, report.CodePreviewIntent},
		{"method empty", http, `"POST"`, `""`, report.CodePreviewIntent},
		{"address empty", http, `"[2001:db8::1]:8443"`, `""`, report.CodePreviewIntent},
		{"address spelling", http, `"[2001:db8::1]:8443"`, `"[2001:db8:0::1]:8443"`, report.CodePreviewIntent},
		{"address name", http, `"[2001:db8::1]:8443"`, `"api.example:8443"`, report.CodePreviewIntent},
		{"address number", http, `"[2001:db8::1]:8443"`, `1`, report.CodePreviewSchema},
		{"header no token", http, `"X-Raw"`, `"X Raw"`, report.CodePreviewIntent},
		{"header host", http, `"X-Raw"`, `"hOST"`, report.CodePreviewIntent},
		{"header chunked", http, `"X-Raw"`, `"Transfer-Encoding"`, report.CodePreviewIntent},
		{"header break", http, `"text/plain"`, `"text/plain\r\nX: y"`, report.CodePreviewIntent},
		{"header blank", http, `"text/plain"`, `"text/plain "`, report.CodePreviewIntent},
		{"header more", http, `"name":"X-Raw"`, `"at":1,"name":"X-Raw"`, report.CodePreviewSchema},
		{"length spelling", http, `"4"`, `"04"`, report.CodePreviewIntent},
		{"length twice", http, `"X-Raw","value":{"b64":"/w=="}`, `"content-length","value":"4"`, report.CodePreviewIntent},
		{"length without body", http, `"body":{"b3":"` + strings.TrimPrefix(ContentOf([]byte("body")).Value().String(), "b3:") + `"}`, `"body":null`, report.CodePreviewIntent},
		{"body without length", http, `"Content-Length"`, `"X-Length"`, report.CodePreviewIntent},
		{"changes under http", http, `"intent":{`, change, report.CodePreviewIntent},

		{"server no name", tool, `"notes"`, `"no tes"`, report.CodePreviewIntent},
		{"tool empty", tool, `"add note"`, `""`, report.CodePreviewIntent},
		{"arguments list", tool, `{"a":"ä","b":[1,null]}`, `[]`, report.CodePreviewSchema},
		{"arguments number", tool, `[1,null]`, `[1.0,null]`, report.CodeJSONNumber},
		{"changes under tool", tool, `"intent":{`, change, report.CodePreviewIntent},

		{"template no name", render, `"github/issue@1"`, `"github issue"`, report.CodePreviewIntent},
		{"no scaffolding", render, `"scaffolding":{"b3":"` + strings.TrimPrefix(ContentOf([]byte("scaffolding")).Value().String(), "b3:") + `"}`, `"scaffolding":null`, report.CodePreviewIntent},
		{"changes under render", render, `"intent":{`, change, report.CodePreviewIntent},

		{"outcome no CID", undo, `"outcome":"bafy`, `"outcome":"bafk`, report.CodePreviewIntent},
		{"undo of nothing", undo, `"changes":[`, `"chances":[`, report.CodePreviewSchema},
		{"undo root relative", undo, `"root":"/srv/work"`, `"root":"srv/work"`, report.CodePreviewPath},
	}
	for _, tt := range tests {
		doc := strings.Replace(tt.doc, tt.old, tt.new, 1)
		if doc == tt.doc {
			t.Errorf("%s: nothing to replace", tt.name)
			continue
		}
		rho, err := ParseRho([]byte(doc))
		var e *report.Error
		if !errors.As(err, &e) || e.Code != tt.code || rho.JSON() != nil {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.code)
		}
	}
	if _, err := ParseRho(append([]byte(exec), bytes.Repeat([]byte(" "), MaxRho)...)); report.CodeOf(err) != report.CodePreviewSize {
		t.Errorf("a document too large: %v", err)
	}
}

// TestURLs: each URL has one spelling, and no two readers take two hosts or
// paths from it.
func TestURLs(t *testing.T) {
	for _, url := range []string{"http://h/", "https://h.example:8443/a%2Fb?c=d&e", "http://127.0.0.1:8080/", "http://[::1]/", "http://[2001:db8::1]:1/"} {
		if _, err := (Preview{Intent: HTTP{Method: "GET", URL: url}}).Seal(testSecret); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{
		"", "h/", "ftp://h/", "HTTP://h/", "http://", "http:///", "http://h", "http://h?q", "http://H/", "http://h:80/", "https://h:443/",
		"http://h:/", "http://h:0/", "http://h:08/", "http://h:65536/", "http://u@h/", "http://u:p@h/", "http://h/#f", "http://h/ ",
		"http://h/\n", "http://h/ä", "http://h/a\\b", "http://h/%", "http://h/%4", "http://h/%2f", "http://h/%41", "http://h/%2E%2E/a",
		"http://h/./a", "http://h/a/..", "http://[::1", "http://[0:0::1]/", "http://[127.0.0.1]/", "http://[fe80::1%25eth0]/", "http://::1/",
		"http://h/" + strings.Repeat("a", MaxURL),
	} {
		if _, err := (Preview{Intent: HTTP{Method: "GET", URL: url}}).Seal(testSecret); report.CodeOf(err) != report.CodePreviewIntent {
			t.Errorf("%q: %v", url, err)
		}
	}
	head := string(anHTTP().Intent.(HTTP).Head())
	want := "POST /v1/items%20?q=%C3%A4 HTTP/1.1\r\nHost: api.example:8443\r\nContent-Type: text/plain\r\nX-Raw: \xff\r\nContent-Length: 4\r\n\r\n"
	if head != want {
		t.Errorf("the head is %q, want %q", head, want)
	}
}

// TestSpacingDoesNotShow: ρ is a JSON value, so spacing, member order and
// escapes are free.
func TestSpacingDoesNotShow(t *testing.T) {
	want := must(anExec().Seal(testSecret))
	doc := string(want.JSON())
	doc = strings.Replace(doc, `{"attempt":2,`, "{ \"attempt\" :\t2 ,\r\n", 1)
	doc = strings.Replace(doc, `"näher\n"`, `"n\u00e4her\u000a"`, 1)
	doc = strings.Replace(doc, `,"verb":"exec"}`, `}`, 1)
	doc = strings.Replace(doc, `{ "attempt"`, `{"verb":"\u0065xec", "attempt"`, 1)
	got, err := ParseRho([]byte(doc))
	if err != nil || got.Digest() != want.Digest() || !bytes.Equal(got.JSON(), want.JSON()) {
		t.Errorf("%s: got %v, %v", doc, got.Digest(), err)
	}
}

// TestForeignVerb: a verb that this version does not know has a digest and
// commitments, and is said to be unknown.
func TestForeignVerb(t *testing.T) {
	known := must(someFiles().Seal(testSecret))
	doc := strings.Replace(string(known.JSON()), `"verb":"files"`, `"verb":"launch"`, 1)
	doc = strings.Replace(doc, `"root":"/srv/work"`, `"root":{"anything":[1,null]}`, 1)
	rho, err := ParseRho([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if !known.Known() || rho.Known() || (Rho{}).Known() {
		t.Error("Known does not tell the verbs apart")
	}
	if rho.Verb() != "launch" || string(rho.JSON()) != doc || rho.Digest() == known.Digest() {
		t.Errorf("got %s %s", rho.Verb(), rho.JSON())
	}
	if a, b := known.Items(), rho.Items(); len(a) != 15 || len(b) != len(a) {
		t.Errorf("%d and %d items, want 15", len(a), len(b))
	}
	for _, r := range [][2]string{
		{`"path":"gone"`, `"path":"/gone"`}, {`"mode":"755"`, `"mode":"700"`}, {`"path":"gone"`, `"path":"zone"`},
	} {
		if rho, err := ParseRho([]byte(strings.Replace(doc, r[0], r[1], 1))); err == nil {
			t.Errorf("changes under a foreign verb are not checked: %s", rho.JSON())
		}
	}
}

func TestAccessors(t *testing.T) {
	p := anExec()
	rho := must(p.Seal(testSecret))
	back := must(ParseRho(rho.JSON()))
	for _, r := range []Rho{rho, back} {
		if r.Verb() != VerbExec || r.Task() != p.Task || r.Attempt() != p.Attempt || r.Context() != p.Context {
			t.Errorf("got %s %s %d %v", r.Verb(), r.Task(), r.Attempt(), r.Context())
		}
		again := must(r.Preview().Seal(testSecret))
		if again.Digest() != rho.Digest() || r.Preview().Intent.(Exec).Env[0] != "EMPTY=" {
			t.Errorf("it was sealed from %v", r.Preview())
		}
	}
	none := Rho{}
	if none.Verb() != "" || none.JSON() != nil || none.Digest() != (Digest{}) || none.Items() != nil {
		t.Error("the zero Rho says something")
	}
	if _, err := none.Open(testSecret); report.CodeOf(err) != report.CodePreviewSchema {
		t.Errorf("the zero Rho opens: %v", err)
	}
	rho.JSON()[0] = 'x'
	if !bytes.Equal(rho.JSON(), back.JSON()) {
		t.Error("JSON hands out its own bytes")
	}
}

// drawPreview draws previews that Seal takes, hostile bytes and all.
func drawPreview(t *rapid.T) Preview {
	name := rapid.StringMatching(`[A-Za-z0-9._/@:+-]{1,12}`)
	raw := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }))
	noNUL := rapid.Map(raw, func(s string) string { return strings.ReplaceAll(s, "\x00", "0") })
	element := rapid.Map(noNUL, func(s string) string {
		return "e" + strings.Map(func(r rune) rune {
			if r == '/' || r == '\\' {
				return '_'
			}
			return r
		}, s)
	})
	// A drawn element may hold pieces of invalid UTF-8, which Map turns into
	// U+FFFD; raw paths are drawn on their own.
	path := rapid.OneOf(rapid.Map(rapid.SliceOfN(element, 1, 3), func(e []string) string { return strings.Join(e, "/") }),
		rapid.SampledFrom([]string{"\xff", "a\xfe/b", "\xe2\x82"}))
	content := rapid.Custom(func(t *rapid.T) Content {
		return ContentOf(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "content"))
	})
	p := Preview{Attempt: rapid.Uint64Range(0, MaxAttempt).Draw(t, "attempt")}
	if rapid.Bool().Draw(t, "task") {
		p.Task = name.Draw(t, "task name")
	}
	for _, n := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, "inputs") {
		p.Inputs = append(p.Inputs, Input{n, raw.Draw(t, "input")})
	}
	for _, n := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, "slots") {
		p.Slots = append(p.Slots, Slot{n, raw.Draw(t, "slot"), name.Draw(t, "source")})
	}
	for _, target := range rapid.SliceOfNDistinct(raw, 0, 3, rapid.ID).Draw(t, "effects") {
		p.Effects = append(p.Effects, Effect{rapid.SampledFrom([]On{OnReads, OnWrites, OnHuman}).Draw(t, "on"), target})
	}
	if rapid.Bool().Draw(t, "recorded") {
		p.Reads = []Read{}
	}
	for _, key := range rapid.SliceOfNDistinct(raw, 0, 3, rapid.ID).Draw(t, "reads") {
		p.Reads = append(p.Reads, Read{key, content.Draw(t, "seen")})
	}
	if rapid.Bool().Draw(t, "verb") {
		f := Files{Root: "/r"}
		for i, at := range rapid.SliceOfNDistinct(path, 1, 4, rapid.ID).Draw(t, "changes") {
			c := Change{Path: string(rune('a'+i)) + at, Before: content.Draw(t, "before")}
			if rapid.Bool().Draw(t, "deleted") {
				p := append([]Change(nil), f.Changes...)
				f.Changes = append(p, c)
				continue
			}
			c.After, c.Mode = content.Draw(t, "after"), ModeProgram
			f.Changes = append(f.Changes, c)
		}
		p.Intent = f
		return p
	}
	e := Exec{Root: "/r", Dir: "/r/" + path.Draw(t, "cwd"), Program: "/p/" + path.Draw(t, "program"), File: content.Draw(t, "file")}
	e.Argv = rapid.SliceOfN(noNUL, 1, 4).Draw(t, "argv")
	for _, n := range rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z_][A-Z0-9_]{0,5}`), 0, 4, rapid.ID).Draw(t, "env") {
		e.Env = append(e.Env, n+"="+noNUL.Draw(t, "value"))
	}
	if rapid.Bool().Draw(t, "stdin") {
		e.Stdin = content.Draw(t, "input")
	}
	p.Intent = e
	return p
}

// TestSealThenParse: whatever Seal takes, ParseRho takes, and nothing is lost
// on the way.
func TestSealThenParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPreview(t)
		rho, err := p.Seal(testSecret)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseRho(rho.JSON())
		if err != nil {
			t.Fatalf("%s: %v", rho.JSON(), err)
		}
		if back.Digest() != rho.Digest() || !bytes.Equal(back.JSON(), rho.JSON()) {
			t.Fatalf("%s became %s", rho.JSON(), back.JSON())
		}
		// What was read back is the preview that was sealed: sealing it again
		// gives the same, blind included.
		again, err := back.p.Seal(testSecret)
		if err != nil || again.Digest() != rho.Digest() {
			t.Fatalf("%s sealed again is %s (%v)", rho.JSON(), again.JSON(), err)
		}
		a, b := rho.Items(), back.Items()
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("item %v became %v", a[i], b[i])
			}
		}
	})
}

func FuzzParseRho(f *testing.F) {
	for _, p := range examples() {
		f.Add(must(p.Seal(testSecret)).JSON())
	}
	small := must(Preview{Intent: Files{"/", []Change{{Path: "a", After: ContentOf(nil)}}}}.Seal(testSecret))
	f.Add(small.JSON())
	f.Add(bytes.Replace(small.JSON(), []byte(`"files"`), []byte(`"launch"`), 1))
	f.Fuzz(func(t *testing.T, doc []byte) {
		rho, err := ParseRho(doc)
		if err != nil {
			var e *report.Error
			if !errors.As(err, &e) || report.Meaning[e.Code] == "" || rho.JSON() != nil {
				t.Fatalf("%q: %v", doc, err)
			}
			return
		}
		again, err := ParseRho(rho.JSON())
		if err != nil || again.Digest() != rho.Digest() || !bytes.Equal(again.JSON(), rho.JSON()) {
			t.Fatalf("%q: %s became %s (%v)", doc, rho.JSON(), again.JSON(), err)
		}
		r, err := Recompute(doc, nil)
		if err != nil || len(r.Items) != len(rho.Items()) {
			t.Fatalf("%q: %v", doc, err)
		}
		for _, item := range rho.Items() {
			d, err := testSecret.Disclose(rho.Digest(), item.Field, item.Name, item.Value)
			if err != nil {
				t.Fatalf("%q: %v: %v", doc, item, err)
			}
			back, err := ParseDisclosure(must(d.MarshalJSON()))
			if err != nil || back != d {
				t.Fatalf("%q: %v became %v (%v)", doc, d, back, err)
			}
		}
	})
}
