package gate

import "os"

// oldSuffix ends the second name of an old content while its first is taken
// from it, where a system cannot exchange names in one step.
const oldSuffix = ".old"

// exchangeInSteps does what exchange does; a file that somebody else puts under
// the name b between the first two steps is lost. A crash in between leaves the
// old content under a name with oldSuffix.
func exchangeInSteps(dir *os.Root, a, b string, step func(string)) error {
	if err := dir.Link(b, a+oldSuffix); err != nil {
		return err
	}
	step("rename")
	if err := dir.Rename(a, b); err != nil {
		return err
	}
	step("rename")
	return dir.Rename(a+oldSuffix, a)
}
