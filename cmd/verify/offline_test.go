package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestScriptsWithoutNetwork runs every script, and so every command, in a
// network namespace that has nothing in it, not even a loopback that is up.
func TestScriptsWithoutNetwork(t *testing.T) {
	const inside = "OBSTAT_NO_NETWORK"
	if os.Getenv(inside) != "" {
		t.Skip("is running in it")
	}
	if out, err := exec.Command("unshare", "-rn", "true").CombinedOutput(); err != nil {
		t.Skipf("this system makes no network namespace: %v %s", err, out)
	}
	self, err := os.Executable()
	check(t, err)
	cmd := exec.Command("unshare", "-rn", self, "-test.run", "^TestScripts$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestScripts/consistency")) {
		t.Fatalf("%v\n%s", err, out)
	}
}
