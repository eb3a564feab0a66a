package main

import (
	"os"
	"os/exec"
	"testing"
)

// BenchmarkColdBundle is one "verify bundle" as a process of its own, from
// start to exit, beside a process that does nothing.
func BenchmarkColdBundle(b *testing.B) {
	at := in(b)
	program := at("verify.exe")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for name, args := range map[string][]string{
		"help":   {"help"},
		"bundle": {"bundle", "--policy", at("log.policy"), "--trust", at("engines.trust"), at("admit.receipt.json")},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := exec.Command(program, args...)
				c.Env = os.Environ()
				if out, err := c.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
		})
	}
}
