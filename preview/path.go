package preview

import (
	"strings"

	"github.com/obstat/obstat/report"
)

// Limits of paths, in bytes.
const (
	MaxPath    = 4096 // a whole path
	maxElement = 255  // one element of it
)

// checkRelative refuses a path that is not relative, clean and inside the root:
// elements separated by "/", none of them empty, "." or "..", no NUL. A
// backslash is refused too: on some systems it separates, and one ρ must not
// name two files. A sink must besides open paths so that no symbolic link
// leads outside the root, and must refuse names that its file system folds
// together (case, trailing dots): neither can be seen from a path.
func checkRelative(where, path string) error {
	const expected = "a relative, clean path with / between its elements"
	if strings.IndexByte(path, '\\') >= 0 {
		return bad(report.CodePreviewPath, where, expected, "a backslash in "+quote(path))
	}
	return checkElements(where, expected, path)
}

// checkAbsolute refuses a path that is not absolute and clean, as POSIX spells
// it.
func checkAbsolute(where, path string) error {
	const expected = "an absolute, clean path with / between its elements"
	if path == "/" {
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		return bad(report.CodePreviewPath, where, expected, quote(path))
	}
	return checkElements(where, expected, path[1:])
}

func checkElements(where, expected, path string) error {
	if len(path) > MaxPath || strings.IndexByte(path, 0) >= 0 {
		return bad(report.CodePreviewPath, where, expected+", at most 4,096 bytes, without NUL", quote(path))
	}
	for e := range strings.SplitSeq(path, "/") {
		if e == "" || e == "." || e == ".." || len(e) > maxElement {
			return bad(report.CodePreviewPath, where, expected, quote(path))
		}
	}
	return nil
}

// below returns dir relative to root, "." for the root itself; ok is false
// where dir is not inside. Both are absolute and clean.
func below(root, dir string) (rel string, ok bool) {
	if dir == root {
		return ".", true
	}
	if root != "/" {
		root += "/"
	}
	return strings.CutPrefix(dir, root)
}

// join is the inverse of below.
func join(root, rel string) string {
	switch {
	case rel == ".":
		return root
	case root == "/":
		return root + rel
	}
	return root + "/" + rel
}
