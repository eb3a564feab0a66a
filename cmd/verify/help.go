package main

import (
	"fmt"
	"strings"
)

const helpStatus = `
EXIT STATUS
  0  every required check is verified
  1  refuted: a malformed artifact, a bad signature or proof, a log's own fault
  2  usage, unreadable input or output, a malformed trust file
  3  nothing is refuted, and a required check could not be made: no trust was
     given, a quorum is unmet, the signer is not known, the input is empty
  4  everything is genuine, and a law between receipts is violated
`

const helpTrust = `
TRUST
  Nothing inside an artifact is trusted, so without these most checks end
  "not checked".

  --policy FILE         a C2SP tlog-policy: log keys, witness keys, quorum
  --trust FILE          an engine trust file: whose receipts are believed
  --policy-sha256 HEX   refuse a policy file of another SHA-256
  --trust-sha256 HEX    refuse a trust file of another SHA-256

  An engine trust file is lines of text:

    obstat trust v1
    origin ORIGIN                   the log
    genesis CID                     pins the registry in the log, or else
    key PRINCIPAL ROLE KEY [FROM [TO]]   engine or approver keys, one a line
    as-of SIZE [CID]                all registry leaves below SIZE are known,
                                    and CID is the last (default: the genesis)

  --registry FILE       a later registry chain, or a bundle that carries one: it
                        may disown what the log or the artifact does not say
  --succession FILE     evidence that the log goes on as another (logd
                        succession): the trust files reach both; may be repeated
  A file that is neither is a check of its own, "registry file" or "succession
  file".
`

const helpReceipt = `NAME
  verify receipt - check one signed envelope

SYNOPSIS
  verify receipt [FLAGS] FILE

  FILE is a DSSE envelope as JSON, or a canonical leaf; - is standard input.

DESCRIPTION
  Checks form, schema, signature, identity and signer. An envelope alone does
  not say where it stands in a log: a key that was listed for a time only is
  not checked, and neither is whether the log ever saw it. Ask "verify bundle".

CHECKS (all required)
  form       one strict JSON or canonical leaf, canonical DAG-CBOR inside
  schema     the statement is of the schema of its version
  signature  holds under the key that the caller's trust has for the signer
  identity   the names (CIDs) of receipt and statement
  signer     the key is known, in the role that signs this kind
` + helpTrust + `
OTHER FLAGS
  --expect KEY=VALUE    make content a required check; may be repeated
  --json                the report as JSON (spec/report.schema.json)
` + helpStatus + `
EXAMPLES
  Check an engine's envelope with its public key in a trust file:

    verify receipt --trust engine.trust judgment.dsse.json

  Read it from a pipe, and go on only where it is a genuine admission:

    fetch-it | verify receipt --trust engine.trust \
      --expect verdict=admit - && apply
`

const helpBundle = `NAME
  verify bundle - check a receipt and its place in the log

SYNOPSIS
  verify bundle [FLAGS] FILE

  FILE is a bundle (*.receipt.json) or a .tlog-proof file whose extra is the
  canonical leaf; - is standard input.

DESCRIPTION
  Says first what the receipt says, since a perfectly genuine denial is no
  go-ahead; then how every check ended: verified, refuted or not checked, with
  a code, what was expected and what came.

CHECKS (required, but for the last four)
  form               strict JSON, canonical leaf, canonical DAG-CBOR inside
  schema             the statement is of the schema of its version
  signature          holds under the key that the caller's trust has
  identity           the names (CIDs) of receipt and statement
  inclusion          the leaf stands at its index in the checkpoint's tree
  checkpoint         signed by a log of the policy; no known line is bad
  policy             the witnesses that the policy's quorum asks for cosigned
  KEY-LISTED-AT      the registry as of the leaf's index lists the key, in the
                     role that signs this kind
  KEY-NOT-DISOWNED   no registry leaf disowns what the key signed here
  REGISTRY-COMPLETE  no registry leaf is missing
  succession         with --succession, then required: it leads to this log,
                     and the leaf stands in the tree with which it ended
  disclosures        what is disclosed is what the receipt commits to

  The last four count when they are refuted, and are required with --require;
  an as-of line in the trust file requires the first two of them.
` + helpTrust + `
OTHER FLAGS
  --expect KEY=VALUE    make content a required check; may be repeated. Keys:
                        kind verdict class verb disposition answer posture
                        request principal run seq receipt statement log index
                        level
  --require CHECK       make a check required; may be repeated
  --json                the report as JSON (spec/report.schema.json)
` + helpStatus + `
EXAMPLES
  Check a bundle under both trust files:

    verify bundle --policy log.policy --trust engines.trust x.receipt.json

  Apply only what was admitted, by an engine of this principal:

    verify bundle --policy log.policy --trust engines.trust \
      --expect verdict=admit --expect principal=deploy-bot \
      x.receipt.json && apply

  Ask whether the key was disowned since, with the registry of today and a
  trust file that says as-of which tree size it is complete:

    verify bundle --policy log.policy --trust engines.trust \
      --registry today.json --require KEY-NOT-DISOWNED x.receipt.json

  See which check refuted it:

    verify bundle --policy log.policy --trust engines.trust --json \
      x.receipt.json | jq '.checks[] | select(.answer == "refuted")'
`

const helpPolicy = `
TRUST
  --policy FILE         a C2SP tlog-policy: log keys, witness keys, quorum
  --policy-sha256 HEX   refuse a policy file of another SHA-256
`

const helpConsistency = `NAME
  verify consistency - check that one checkpoint extends another

SYNOPSIS
  verify consistency [FLAGS] OLDER NEWER

  Each is a checkpoint, a bundle, a .tlog-proof, a registry chain, or a
  directory that is a site of tiles; - is standard input. NEWER may be a C2SP
  add-checkpoint body: "old SIZE", the hashes of a proof, a checkpoint.

DESCRIPTION
  Checks that the log of both never changed what it had. The proof is that of
  the add-checkpoint body, or is made from the tiles of the site of the larger
  tree; two trees of one size need none. The smaller tree is taken for the
  older one, in whatever order they are given.

  A proof that fails is "refuted" (PROOF-INVALID) and accuses nobody: it may
  be a bad proof. Two signed roots for one size are a fork (LOG-FORKED).

CHECKS (all required)
  older        the checkpoint is signed by a log of the policy
  newer        the same
  policy       the witnesses that the policy's quorum asks for cosigned NEWER
  consistency  the smaller tree is a prefix of the larger
` + helpPolicy + `
OTHER FLAGS
  --json                the report as JSON (spec/report.schema.json)
` + helpStatus + `
EXAMPLES
  Ask whether the log of a receipt kept of last year is that of today:

    verify consistency --policy log.policy old.receipt.json /srv/mirror

  Check a proof that somebody sent:

    verify consistency --policy log.policy kept.checkpoint growth.txt
`

const helpFork = `NAME
  verify fork - judge evidence that a log signed two histories

SYNOPSIS
  verify fork [FLAGS] EVIDENCE
  verify fork [FLAGS] [--evidence] ONE OTHER

  EVIDENCE is a file of spec/bundle.md#fork; - is standard input. ONE and OTHER
  are as those of "verify consistency".

DESCRIPTION
  Two checkpoints of one log contradict each other where they have two roots
  for one size, or where the tree of the larger has another root at the size of
  the smaller. "verified" says that the log signed both, and that is proof to
  anybody who has the policy. "refuted" says that this is no such evidence.

CHECKS (all required)
  first        the checkpoint is signed by a log of the policy
  second       the same
  fork         they cannot both be
` + helpPolicy + `
OTHER FLAGS
  --evidence            write the evidence of ONE and OTHER to standard output
  --json                the report as JSON (spec/report.schema.json)
` + helpStatus + `
EXAMPLES
  Judge what a monitor kept:

    verify fork --policy log.policy caught.fork.json

  Make it of two checkpoints:

    verify fork --policy log.policy --evidence a.receipt.json b.receipt.json \
      > caught.fork.json
`

const helpLog = `NAME
  verify log - check a whole log from a directory of tiles

SYNOPSIS
  verify log [FLAGS] SITE

  SITE is a C2SP tlog-tiles site: checkpoint, tile/entries/..., tile/0/..., as
  a directory or an uncompressed tar archive; - is an archive on standard input.
  That of a logd lies in its directory, in log/site; logd export makes a copy.

DESCRIPTION
  Hashes every entry again, holds every tile against those below it and the
  root against the checkpoint, and checks every envelope, its schema, its
  signature and its signer under the registry as of its index. Then it holds
  every run to the eight laws between receipts. An interrupt ends it with
  status 3.

  Only regular files inside SITE are read, and only those that the checkpoint
  calls for: partial tiles of smaller trees are not. A file that is not there,
  or only by a link that leads out of SITE, ends "not checked" (TILE-MISSING).
  Of an archive links, devices, sparse files, names that stand twice and paths
  out of it are refused (ARCHIVE-ENTRY). One on standard input is kept in --work
  while it is read.

  With --state an audit goes on where an earlier one ended, under the same trust
  files: the signatures of the leaves before are not checked again; everything
  else is, and that those leaves are the same ones. Keep the state as you keep
  the trust files: who can write it can have signatures skipped.

  Memory does not grow with the log, except for the laws, and to find a
  statement that stands in two leaves. Where that takes more than 256 MiB, or
  the log has more than 1048576 leaves, they end "not checked" (STATE-LIMIT),
  unless --work names a directory to sort in. Then everything together takes
  less than 64 MiB on two processors.

` + helpLogChecks + helpLaws + `
  A violation always counts: status 4, with the leaves that show it. A law that
  could not be checked is said in the first line and in the last, and counts
  with --require only: a log that is still written has open runs, and an open
  run is never held.
` + helpTrust + `
OTHER FLAGS
  --hashes              look at no receipt: check the checkpoint, the entries,
                        the tiles and the root
  --require CHECK       make a check required: a law, laws for all of them, or
                        registry under plain keys; may be repeated
` + helpAudit + helpStatus + `
EXAMPLES
  Check a mirror on every processor:

    verify log --policy log.policy --trust engines.trust /srv/mirror

  Check every night what is new, and that nothing before changed:

    verify log --policy log.policy --trust engines.trust \
      --state audit.state --since last.checkpoint /srv/mirror &&
      cp /srv/mirror/checkpoint last.checkpoint

  Check a copy that comes over a pipe:

    ssh mirror tar -C /srv/mirror -cf - . | verify log --policy log.policy \
      --trust engines.trust --work /var/tmp -

  Check the log of a logd, laws included, however large it is:

    verify log --policy log.policy --trust engines.trust --require laws \
      --work /var/tmp /srv/log/log/site
`

const helpLogChecks = `CHECKS (all required; registry not under plain keys)
  checkpoint  signed by a log of the policy; no known line is bad
  policy      the witnesses that the policy's quorum asks for cosigned
  entries     every entry hashes to its place in a level-0 tile
  tiles       every tile above holds the hashes of the tiles below
  root        the whole leads to the checkpoint's root
  form        every leaf is a canonical envelope of a known type
  schema      every statement is of the schema of its version
  registry    the genesis is the pinned one, and every later statement follows
  signatures  of every receipt
  keys        every signer was listed at its leaf, in the role that signs it
  once        no statement stands in two leaves
  growth      with --since: the log grew from that checkpoint
  resume      with --state: the leaves before are those that were audited
`

const helpLaws = `
LAWS (spec/laws.md)
  law-1-judged-first        every outcome answers what was judged before it
  law-2-admitted-first      fired only after an admit, or an approval in time
  law-3-judged-is-executed  what was fired is what was judged
  law-4-settled-once        one outcome a call, one call an approval
  law-5-nothing-missing     no hole, no fork, no cut tail in a run
  law-6-nothing-hanging     no call without an outcome, no silence past its end
  law-7-undone-soundly      an undo compared with what had been recorded
  law-8-closed-vocabulary   every code is a word of the run's vocabulary
  laws                      all eight, as --require takes them
`

const helpAudit = `  --now TIME            RFC 3339 or Unix seconds, for what has expired by then
                        (default: when the policy's witnesses cosigned last, or
                        else not checked)
  --vocabulary FILE     a vocabulary besides the standard one; may be repeated
  --work DIR            sort there what does not fit in memory
  --since FILE          an older checkpoint, or an artifact with one: require
                        that the log grew from it
  --state FILE          read how far the last audit came, if the file is there,
                        and write how far this one does
  --jobs N              work on N pieces at once (default: one a processor)
  --json                the report as JSON (spec/report.schema.json)
`

const helpRun = `NAME
  verify run - hold one run of a log to the laws

SYNOPSIS
  verify run --principal NAME --run NAME [FLAGS] SITE

  SITE is a C2SP tlog-tiles site, as for "verify log".

DESCRIPTION
  Checks the whole log as "verify log" does, since a law over a run rests on
  everything that stands in the log, and holds one run to the eight laws. They
  are required: 0 says that all eight held, which they never do of a run that
  is open.

  --principal NAME      under which the registry or trust file lists the key
  --run NAME            of the run

` + helpLogChecks + helpLaws + helpTrust + `
OTHER FLAGS
  --require CHECK       make a check required: registry, under plain keys
` + helpAudit + helpStatus + `
EXAMPLES
  Ask whether a run is whole:

    verify run --principal deploy-bot --run 2026-11-30-7 \
      --policy log.policy --trust engines.trust /srv/mirror
`

const helpInspect = `NAME
  verify inspect - show any artifact, and check nothing

SYNOPSIS
  verify inspect [--json] FILE

  FILE is a bundle, .tlog-proof, envelope, leaf, disclosure, registry chain,
  checkpoint, add-checkpoint body, evidence of a fork, hash tile, entry bundle,
  vocabulary, tlog-policy or engine trust file; - is standard input.

DESCRIPTION
  Prints what the artifact says, field by field, under the paths of its
  statement. No signature and no proof is checked, and the first line says so.

EXIT STATUS
  0  it was shown
  1  it is malformed
  2  usage, unreadable input or output
  3  it is empty, or of a version that this program does not know

EXAMPLES
    verify inspect x.receipt.json
    verify inspect checkpoint
`

func helpMain() string {
	var b strings.Builder
	b.WriteString(`verify - check Obstat's receipts and logs, offline

SYNOPSIS
  verify COMMAND [FLAGS] FILE

COMMANDS
`)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-11s %s\n", c.name, c.summary)
	}
	b.WriteString(`  help        say more about a command
  version     say which build this is

  There is no networking code in this program: it reads the files that it is
  given and standard input, and asks nobody. On a terminal answers are coloured,
  unless NO_COLOR is set, and long work shows how far it is.
` + helpStatus + `
EXAMPLES
  verify bundle --policy log.policy --trust engines.trust x.receipt.json
  verify inspect x.receipt.json
  verify help bundle
`)
	return b.String()
}

// synopsis returns the usage line of a help text.
func synopsis(help string) string {
	_, rest, _ := strings.Cut(help, "SYNOPSIS\n  ")
	line, _, _ := strings.Cut(rest, "\n")
	return "usage: " + line
}
