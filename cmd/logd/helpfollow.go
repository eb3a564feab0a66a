package main

const helpSubmit = `logd submit - put signed envelopes into a log

USAGE
  logd submit --url URL --trust FILE --policy FILE [--witnessed] [--out DIR]
              FILE...|-

DESCRIPTION
  Each FILE, or standard input for -, has DSSE JSON envelopes one behind the
  other, or is one canonical leaf. All are read first, then submitted in their
  order. Every answer is verified under the trust files, as verify receipt does,
  before anything is said of it. A busy or silent log is asked again a few times.

  It ends at the first envelope that is not recorded. To submit the same again
  is always safe: a log has a statement once, and answers with its place.

OPTIONS
  --url URL        the log, http://127.0.0.1:8080
  --trust FILE, --policy FILE
                   whose receipts count, and the log's key
  --witnessed      wait for the quorum of witnesses of the policy
  --out DIR        save each bundle as DIR/STATEMENT.receipt.json and print a
                   line "LEAF STATEMENT FILE". Without it the bundles are
                   printed, a line each

EXIT STATUS
  0  all are recorded, and that is proven
  1  one was refused, or the answer proves nothing
  2  usage
  3  the log did not answer, or its witnesses have not: the envelope may stand
     in the log. Submit it again
`

const helpFollow = `logd follow - print the entries of a log as they come

USAGE
  logd follow --url URL | --dir DIR | --site DIR [--from N] [--format jsonl]
              [--once]

DESCRIPTION
  Prints one JSON object a line for each entry, in the order of the log, until
  it is interrupted; that is exit status 0. A log that goes away, as at a
  restart, is waited for; one that cannot be read at the start is an error.

  Nothing is verified. It prints what the source says, for pipelines and log
  collectors; verify log is for whoever has to know.

  A line has leaf, statement (its CID) and kind; of a receipt also receipt (its
  CID), run, verdict, disposition and codes, where it has them, and view, the
  whole statement as JSON. A statement of a later version has no view, and an
  entry of kind registry has none of these.

OPTIONS
  --url URL        a log that is served, http://127.0.0.1:8080
  --dir DIR        the directory of a log on this machine, up to a second old
  --site DIR       a site of tiles
  --from N         begin with leaf N, default 0. Whoever was interrupted goes on
                   with the last leaf that was printed, plus 1
  --format jsonl   the only one
  --once           end when what there is was printed
`
