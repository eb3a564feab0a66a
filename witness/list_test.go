package witness

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/report"
)

func TestParseList(t *testing.T) {
	one := newLog(t, "a").signer.Key.String()
	two := strings.Replace(one, testOrigin, "x", 1)
	_ = two
	b := "# logs\n\nlogs/v0\nvkey " + one + "\nqpd 86400\ncontact somebody, by post\n\nvkey " + signerAs(t, "other.example/key") + "\norigin other.example/log\n" +
		"vkey " + signerAs(t, "other.example/key2") + "\n  origin other.example/log\nqpd 1.5\r\n"
	logs, err := ParseList([]byte(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != 2 || logs[0].Origin != testOrigin || logs[0].PerDay != 86400 || len(logs[0].Keys) != 1 ||
		logs[1].Origin != "other.example/log" || len(logs[1].Keys) != 2 || logs[1].PerDay != 0 {
		t.Errorf("%+v", logs)
	}
	for name, b := range map[string]string{
		"empty":               "",
		"no header":           "vkey " + one + "\n",
		"header later":        "qpd 1\nlogs/v0\n",
		"no vkey":             "logs/v0\norigin x\n",
		"bad vkey":            "logs/v0\nvkey x+y\n",
		"cosigner's vkey":     "logs/v0\nvkey " + signer(t, "w").Key.String() + "\n",
		"vkey twice":          "logs/v0\nvkey " + one + "\nvkey " + one + "\n",
		"no origin":           "logs/v0\nvkey " + one + "\norigin\n",
		"origin twice":        "logs/v0\nvkey " + one + "\norigin a\norigin b\n",
		"qpd 0":               "logs/v0\nvkey " + one + "\nqpd 0\n",
		"qpd is no number":    "logs/v0\nvkey " + one + "\nqpd NaN\n",
		"unknown word":        "logs/v0\nvkey " + one + "\nurl x\n",
		"more than there may": strings.Repeat("#", MaxList+1),
	} {
		if _, err := ParseList([]byte(b)); report.CodeOf(err) != report.CodeWitnessList {
			t.Errorf("%s: %v", name, err)
		}
	}
	if logs, err := ParseList([]byte("logs/v0\n")); err != nil || len(logs) != 0 {
		t.Errorf("a list of no logs: %v, %v", logs, err)
	}
}
