package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"

	"github.com/obstat/obstat/corpus"
)

// runCorpus holds a directory to the manifest in it.
func runCorpus(inv *invocation) (int, error) {
	root, err := inv.corpus()
	if err != nil {
		return 0, err
	}
	o := corpus.Options{Only: inv.only}
	if inv.digest != "" {
		b, err := hex.DecodeString(inv.digest)
		if err != nil || len(b) != sha256.Size {
			return 0, fmt.Errorf("--digest %q is no SHA-256 in hex", inv.digest)
		}
		d := corpus.Digest(b)
		o.Digest = &d
	}
	r, err := corpus.Check(root, o)
	if err != nil {
		return 0, err
	}
	return inv.print(r)
}

// corpus opens the directory, and nothing that a link in it leads out to.
func (inv *invocation) corpus() (fs.FS, error) {
	if err := directory(inv.operand); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(inv.operand)
	if err != nil {
		return nil, err
	}
	inv.opened = append(inv.opened, root)
	return root.FS(), nil
}

// runCorpusNew prints the manifest of a directory. It writes nothing else, as
// every command here.
func runCorpusNew(inv *invocation) (int, error) {
	root, err := inv.corpus()
	if err != nil {
		return 0, err
	}
	m, err := corpus.New(root, corpus.Beginning{Name: inv.name, Policy: inv.policy, Trust: inv.trust, Release: inv.release})
	if err != nil {
		return 0, err
	}
	if _, err := inv.stdout.Write(m.Append(nil)); err != nil {
		return 0, fmt.Errorf("cannot write the manifest: %w", err)
	}
	return 0, nil
}

const helpCorpus = `NAME
  verify corpus - check a frozen corpus, or begin one

SYNOPSIS
  verify corpus [FLAGS] DIR

  DIR holds a manifest.json and the files that it lists: receipts, logs and
  trust files, each with its one right answer (spec/corpus.md).

DESCRIPTION
  Holds every file to its digest, and asks every case again: each must get
  exactly the answer and code that the manifest fixes. Nothing may be missing,
  and nothing may be there that is not listed. The report names the case that
  does not hold, or the file where it belongs to none.

CHECKS (all required)
  manifest  it is of its form, with the digest that it states
  files     every file is there with its digest, and nothing else is
  cases     every case got its answer, its code and nothing besides

OTHER FLAGS
  --digest HEX          refuse a corpus of another digest: a manifest that
                        somebody wrote anew states a digest of its own
  --case NAME           ask this case only
  --json                the report as JSON (spec/report.schema.json)

EXIT STATUS
  0  everything is as the manifest says
  1  a file or a case is not
  2  usage, unreadable input or output
  3  there is no manifest, or one of a version that this program does not know

EXAMPLES
  Check a corpus whose digest was published:

    verify corpus --digest 5f0c... corpus/v1

  See what one case is about, and ask it by itself:

    verify corpus --case laws/fork corpus/v1
`

const helpCorpusNew = `NAME
  verify corpus new - begin a corpus, or go on with a draft

SYNOPSIS
  verify corpus new [FLAGS] DIR

  DIR holds bundles (*.receipt.json, *.tlog-proof), envelopes (*.dsse.json,
  *.leaf), logs (directories with a checkpoint) and their trust files. The
  first directory of a path is the area of its case.

DESCRIPTION
  Prints the manifest of these files, and writes nothing: put it into DIR as
  manifest.json. Where a draft is there, its cases are kept as they stand and
  digests are computed anew; files that no case names yet become cases with
  the answer that they get today. That answer may be wrong: read each, say why
  it is right, and correct those that are not.

FLAGS
  --name NAME           of the corpus (default: as in the draft)
  --policy PATH         trust files of the cases that are added, as paths below
  --trust PATH          DIR
  --release             the corpus is finished and never changes again: every
                        case holds, and says why

EXIT STATUS
  0  the manifest was written
  2  usage, unreadable input or output, a file that is nothing to ask about, a
     release of which a case does not hold

EXAMPLES
  Begin one, then read manifest.json and check it:

    verify corpus new --name mine --policy log.policy --trust engines.trust \
      cases > manifest.json && mv manifest.json cases/
    verify corpus cases

  Go on with it after editing the manifest or adding files:

    verify corpus new cases > manifest.json && mv manifest.json cases/
`
