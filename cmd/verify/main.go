// Command verify checks Obstat's artifacts offline. It has no networking code:
// it reads the files it is given and standard input, writes standard output,
// and asks nobody.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// statusUsage is the exit status for usage, unreadable input or output, a
// malformed trust file, and faults of this program. The others are those of
// report.Overall.
const statusUsage = 2

// command is one word after "verify".
type command struct {
	name    string
	summary string
	help    string
	run     func(*invocation) (int, error)
	most    int // operands; one at least
}

func commands() []command {
	return []command{
		{"receipt", "check one signed envelope", helpReceipt, runReceipt, 1},
		{"bundle", "check a receipt and its place in the log", helpBundle, runBundle, 1},
		{"consistency", "check that one checkpoint extends another", helpConsistency, runConsistency, 2},
		{"fork", "judge evidence that a log signed two histories", helpFork, runFork, 2},
		{"log", "check a whole log from its tiles", helpLog, runLog, 1},
		{"run", "hold one run of a log to the laws", helpRun, runRun, 1},
		{"corpus", "check a frozen corpus of cases", helpCorpus, runCorpus, 1},
		{"corpus new", "begin a corpus, or go on with a draft", helpCorpusNew, runCorpusNew, 1},
		{"inspect", "show any artifact, and check nothing", helpInspect, runInspect, 1},
	}
}

// run is the program without the process around it.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	defer func() {
		// A panic is this program's fault and never the artifact's answer.
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "verify: internal error: %v\n", p)
			status = statusUsage
		}
	}()
	if len(args) == 0 {
		fmt.Fprint(stderr, helpMain())
		return statusUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return help(args[1:], stdout, stderr)
	case "version", "-version", "--version":
		if len(args) > 1 {
			fmt.Fprintln(stderr, "verify: version takes no arguments")
			return statusUsage
		}
		return write(version()+"\n", stdout, stderr)
	}
	if c, rest, ok := commandOf(args); ok {
		return c.invoke(rest, stdin, stdout, stderr)
	}
	fmt.Fprintf(stderr, "verify: no command %q\n\n%s", args[0], helpMain())
	return statusUsage
}

// commandOf finds the command of one word or two, and returns what is behind it.
func commandOf(args []string) (command, []string, bool) {
	for n := min(2, len(args)); n > 0; n-- {
		for _, c := range commands() {
			if c.name == strings.Join(args[:n], " ") {
				return c, args[n:], true
			}
		}
	}
	return command{}, nil, false
}

func help(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return write(helpMain(), stdout, stderr)
	}
	if c, _, ok := commandOf(args); ok {
		return write(c.help, stdout, stderr)
	}
	fmt.Fprintf(stderr, "verify: no command %q\n\n%s", args[0], helpMain())
	return statusUsage
}

func write(text string, stdout, stderr io.Writer) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		fmt.Fprintf(stderr, "verify: cannot write: %v\n", err)
		return statusUsage
	}
	return 0
}
