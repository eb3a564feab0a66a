package main

import "io"

const helpMain = `logd - a transparency log for judged effects

USAGE
  logd dev [--dir DIR]
  logd init  --dir DIR --origin ORIGIN --make-engine NAME ...
  logd serve --dir DIR [--listen HOST:PORT] [--public] [--anchor FILE|URL]...
  logd config [any option of logd serve]...
  logd submit --url URL --trust FILE --policy FILE FILE...|-
  logd follow --url URL|--dir DIR|--site DIR [--from N] [--once]
  logd fsck --dir DIR
  logd reindex --dir DIR
  logd export --dir DIR --to SITE
  logd keys COMMAND ...
  logd freeze|succeed|succession ...
  logd version
  logd help [COMMAND]

COMMANDS
  dev      serve a log with throwaway keys, and say what to try
  init     make a new log: its keys, its genesis registry, its trust files
  serve    answer submissions and reads over HTTP
  config   print what serve would be told, and by whom
  submit   put signed envelopes into a log, and keep what proves it
  follow   print the entries of a log as they come, a line each
  fsck     read a whole log again and say what is wrong with it
  reindex  make the index of a log again
  export   make a static site of a log
  keys     make key files; change and look at who may sign
  freeze, succeed, succession
           end a log, and let another go on from it
  version  say what was built
  help     say more about a command

EXIT STATUS
  0  done
  1  it could not be done, or what was asked for could not be printed; the
     reason is on standard error, with its code (spec/codes.md)
  2  the command line says nothing that could be done
  3  of logd submit: whether it was done is not known; doing it again is safe
`

const helpInit = `logd init - make a new log

USAGE
  logd init --dir DIR --origin ORIGIN [--encrypt]
            [--engine NAME=FILE | --make-engine NAME]...
            [--approver NAME=FILE | --make-approver NAME]...
  logd init --dir DIR --genesis PROPOSAL... [--encrypt]

DESCRIPTION
  Makes the log's key, one registrar's key, and the genesis registry, which
  lists the registrar and the given engines and approvers, is signed by the
  registrar, and stands in the log as leaf 0. At least one engine is needed.

  With --genesis the registry is one that registrars have signed elsewhere
  (logd keys propose --genesis): then only the log's own key is made here.

  DIR must not exist, or be empty. Everything is made beside it under a
  temporary name and renamed: init never overwrites and never leaves half a
  log. After a crash a directory DIR.init-... may be left; it can be deleted.

OPTIONS
  --dir DIR              the log's directory
  --origin ORIGIN        the log's name for ever, best the URL prefix it will
                         be read under, without scheme: log.example.com/effects.
                         1 to 128 characters of A-Z a-z 0-9 . _ / @ : -
  --engine NAME=FILE     list an engine; FILE is its Ed25519 public key,
                         PKIX in PEM, as logd keys public or openssl pkey
                         -pubout print it
  --make-engine NAME     make an engine's key and list it
  --approver NAME=FILE   list an approver, whose key signs decisions
  --make-approver NAME   make an approver's key and list it
  --genesis PROPOSAL     a genesis with its signatures; several copies of one,
                         each signed by some, add up
  --encrypt              encrypt the key files that are made, under the
                         passphrase of --passphrase-file FILE, or else of the
                         variable OBSTAT_PASSPHRASE, or else one that is asked

  NAME is 1 to 128 characters of A-Z a-z 0-9 . _ / @ : + - and stands in the
  registry for ever. Nobody is both engine and approver.

FILES
  DIR/log/                 the log itself
  DIR/index/               made by the server: what can be derived from the log.
                           It may be deleted while no server runs
  DIR/log.key              SECRET, signs checkpoints
  DIR/keys/registrar.key   SECRET, signs changes of the registry. The server
                           does not need it: move it to another machine, for
                           whoever has it decides whose receipts count
  DIR/keys/engine-NAME.key, DIR/keys/approver-NAME.key
                           SECRET, made on request: move them to where that
                           engine runs or that person sits
  DIR/log.policy           trust file: the log's key, as C2SP tlog-policy
  DIR/trust                trust file: origin and genesis statement

  Key files are Ed25519, PKCS #8 in PEM, mode 0600, or the same encrypted
  (logd help keys). A log whose own key is encrypted asks for its passphrase at
  every start.

EXAMPLES
  logd init --dir /var/lib/obstat --origin log.example.com/effects \
       --engine ci=ci.pub.pem --approver alice=alice.pub.pem
  logd init --dir ./scratch --origin example.com/scratch --make-engine demo
`

const helpServe = `logd serve - answer submissions and reads over HTTP

USAGE
  logd serve [--config FILE] --dir DIR [--listen HOST:PORT] [--public]
             [--anchor FILE|URL]... [--allow-unreachable-anchors]
             [--tls-cert FILE --tls-key FILE]
             [--admin-socket FILE] [--metrics-listen HOST:PORT]
             [--log-format text|json] [--log-level LEVEL]

DESCRIPTION
  Recovers the log in DIR and answers until SIGINT or SIGTERM. Then it takes no
  new connections, answers what it has accepted, and ends: a body that is still
  on its way gets 2 seconds, the head of a request 5, everything together 20; a
  second signal ends it at once. One process at a time serves a directory; a
  second is refused and told who has it. It prints its URL on standard output
  and a structured log on standard error.

  Whoever reaches the port may read the whole log, and submit what a listed
  key has signed. The default is therefore loopback, and there only requests
  for localhost or a loopback address are answered, so that no web page in a
  browser on this machine reads the log under a name of its own. Listening
  elsewhere is a choice: with --tls-cert and --tls-key, or behind a proxy that
  does TLS and sends Host: localhost, or the log is --public.

  When a write or a sync fails, the log takes no more submissions: reads go
  on, /readyz turns to 503, and the reason is logged. Restart it when the disk
  is well again.

  An older copy of DIR looks healthy from inside, and going on with it would
  sign a second history. An anchor tells: a file on another volume that holds
  the log's newest checkpoint. It is asked before anything is signed, and the
  log does not start if it is ahead (LOG-ROLLBACK) or cannot be read
  (ANCHOR-UNREACHABLE); while the log runs it is written about once a second,
  and at the end. Begin one by making an empty file; a missing one is taken for
  a volume that is not there. A witness is an anchor too, by its monitoring
  prefix: it is asked at the start, and protects as far as it was shown the log.
  rollback_protection=none in the log says that there is no anchor.

OPTIONS
  All but --config and --allow-unreachable-anchors can also be said in the file
  of settings and in the environment: logd help config.

  --config FILE        the file of settings
  --dir DIR            the log's directory, made by logd init
  --listen HOST:PORT   default ` + defaultListen + `; port 0 takes a free one.
                       0.0.0.0 is every IPv4 address, [::] or no host is every
                       address
  --public             reads are for everybody: requests under any host name
                       are answered, and web pages may read
                       (Access-Control-Allow-Origin: *). Submitting stays with
                       listed keys
  --anchor FILE|URL    an anchor, outside of DIR, or the monitoring prefix of a
                       C2SP witness; may stand several times
  --passphrase-file FILE
                       holds the passphrase of DIR/log.key, where that file is
                       encrypted; else OBSTAT_PASSPHRASE does, or it is asked
  --allow-unreachable-anchors
                       for this start, go on without anchors that cannot be
                       read, and say so in the log. One that is ahead stops the
                       log all the same
  --tls-cert FILE, --tls-key FILE
                       answer over TLS 1.2 or later: the certificate chain and
                       its key, PEM. They are read again at SIGHUP and when they
                       change; a pair that does not fit leaves the one before
  --admin-socket FILE  a Unix socket for the operator: /metrics, /status, /config
                       and /debug/pprof/, for its owner alone
  --metrics-listen HOST:PORT
                       an address for Prometheus, which has /metrics alone
  --log-format text|json   of the log on standard error; default text
  --log-level LEVEL    debug, info, warn or error; default info

REQUESTS
  POST /v1/receipts    one envelope, as DSSE JSON (application/json or
                       application/vnd.dsse.envelope.v1+json) or as canonical
                       leaf (application/vnd.obstat.leaf.v1+cbor). The answer
                       is the bundle that proves it: 201, or 200 with
                       Obstat-Repeat: true where the statement was there
                       before. With ?registry=chain the bundle carries the
                       registry, and can be verified offline
  POST /v1/registry    one registry statement, in the same forms, signed by the
                       registrars. The answer is the registry chain
  GET /v1/...          bundles of statements and leaves, runs, searches, proofs,
                       the registry chain, the limits
  GET /checkpoint, /tile/...   C2SP tlog-tiles
  GET /healthz         200 while the process answers
  GET /readyz          200 while the log takes submissions, else 503; it says
                       the size and the state of the anchors

  All of it stands in spec/http.md, with every limit and status.

  A refusal is application/problem+json with a stable code, what was expected
  and what came, and leaves no trace in the log.

EXAMPLES
  logd serve --dir /var/lib/obstat --anchor /mnt/other/obstat.checkpoint
  curl -H 'Content-Type: application/json' --data-binary @envelope.json \
       'http://127.0.0.1:8080/v1/receipts?registry=chain' > x.receipt.json
`

const helpFsck = `logd fsck - read a whole log again

USAGE
  logd fsck --dir DIR

DESCRIPTION
  Hashes every entry again, compares every tile, partial ones too, and the
  root, reads every record of the segments, and verifies the signatures of the
  published checkpoint and of the newest one, and looks every statement up in
  the index, which also shows whether one stands in two leaves. It changes
  nothing. It says what it read, what is WRONG, and what it did not read: while
  a server has the log open these are the segments and the index.

  A start of the server reads less: the right edge of the tree, and the
  segments, whose entries are not yet all in full bundles. While it runs it
  reads full bundles again, slowly and over and over, and logs what is wrong.

  The signatures and the registry inside the entries, and the laws between
  receipts, are the work of verify log DIR/log/site.

EXIT STATUS
  0  nothing is wrong in what was read
  1  something is, or the check could not begin
  2  the command line says nothing that could be done
`

const helpReindex = `logd reindex - make the index of a log again

USAGE
  logd reindex --dir DIR

DESCRIPTION
  DIR/index holds what is derived from the log: where a statement stands, the
  leaves of a run, and leaves by what they say. It is never the truth: a start
  of the server compares its size and root with the log, absorbs what it lacks,
  and makes it again where they do not fit. This does so at once, as for an
  index that fsck found wrong. No server may have the log open.
`

const helpExport = `logd export - make a static site of a log

USAGE
  logd export --dir DIR --to SITE

DESCRIPTION
  Writes all tiles, entry bundles and the newest checkpoint into SITE, which
  must not exist or be empty, in the layout of C2SP tlog-tiles: any file server
  can serve it, and verify log checks it. What was written is read back and
  hashed before the checkpoint is, so a site that was cut short has none.

  No server may have the log open. Of a log that is served, DIR/log/site is
  such a site, up to a second old, and it can be mirrored over HTTP.
`

const helpKeys = `logd keys - key files, and who may sign

USAGE
  logd keys generate [--plain] FILE
  logd keys import [--plain] [--from-passphrase-file F] FROM FILE
  logd keys passphrase [--plain | --new-passphrase-file F] FILE
  logd keys public FILE
  logd keys id FILE

  logd keys propose SOURCE CHANGE... --out PROPOSAL
  logd keys propose --genesis --origin ORIGIN --threshold N
            --registrar NAME=FILE... --engine NAME=FILE... --out PROPOSAL
  logd keys show [--trust FILE] [--policy FILE] PROPOSAL
  logd keys sign --key FILE [--trust FILE] [--policy FILE] [--yes] PROPOSAL
  logd keys submit --url URL --trust FILE [--policy FILE] [--out CHAIN]
            PROPOSAL...

  logd keys list SOURCE [--at LEAF]
  logd keys history SOURCE
  logd keys export SOURCE --out CHAIN

KEY FILES
  generate    make a key. The public key is printed
  import      make a key file of a key that another program keeps: PKCS #8 in
              PEM, or OpenSSH (ssh-keygen -t ed25519)
  passphrase  encrypt a key file, decrypt it (--plain), or change its passphrase
  public      print the public key of a file, PKIX in PEM. It may hold a private
              key, a public one, or a line of OpenSSH
  id          print its key ID, the name that the registry has for the key

  A key file is encrypted unless --plain says otherwise. The passphrase is the
  line in --passphrase-file FILE, or else the variable OBSTAT_PASSPHRASE, or
  else it is asked at the terminal; a new one of passphrase the line in
  --new-passphrase-file, or the variable OBSTAT_NEW_PASSPHRASE, or asked.

CHANGES OF THE REGISTRY
  propose     make a proposal: the next registry statement, without signatures
  show        say what a proposal would change
  sign        show a proposal, ask, and add a registrar's signature to the file
  submit      hand the statement to the log. Several copies of one proposal, each
              signed by some, add up

  A proposal carries the registry that it follows, so that it can be signed on
  machines without a network. What it would change is worked out there, from the
  genesis that the registrar's own --trust file pins; nothing that the file says
  of itself is believed. With --policy it is also checked that the log signed
  the checkpoint, and that no key of the log or of a witness is listed.

  A change needs the signatures of as many registrars as the threshold before it
  says, and of as many as the threshold after it. Where another change comes
  first, the log refuses it (REGISTRY-PREV): propose it again.

  --engine NAME=FILE, --approver NAME=FILE, --registrar NAME=FILE
                     list the public key in FILE under NAME, for ever
  --retire KEY       it signs nothing behind this statement
  --revoke KEY       the same, and what it signed is disowned from the leaf of
                     this statement on
  --revoke KEY@LEAF  disowned from that leaf on: for a key that was stolen
                     before. It cannot be taken back, only lowered
  --threshold N      so many registrars sign a change from here on

  KEY is a principal, or a key ID or eight digits of its beginning.

THE REGISTRY
  list        every key that was ever listed, and what became of it; with --at,
              whether it could sign that leaf
  history     what changed at which leaf, and who signed it
  export      write the chain of all registry leaves, with their proofs, into a
              file: what verify --registry takes

SOURCE
  --url URL          a log that is served, http://127.0.0.1:8080
  --registry FILE    a chain that was exported, or a bundle that carries one
  --site DIR         a site of tiles
  --dir DIR          the directory of a log on this machine, whose trust files
                     are then used; while it is served, up to a second old
  --trust FILE       pins the genesis. Needed
  --policy FILE      the log's key

EXAMPLES
  An engine's key was stolen at about leaf 4000. On a machine with a network:

    logd keys propose --url http://127.0.0.1:8080 --trust trust \
         --policy log.policy --revoke ci@4000 --engine ci=new.pub.pem \
         --out change.json

  On each registrar's machine, with change.json carried there and back:

    logd keys sign --key registrar.key --trust trust change.json

  And then:

    logd keys submit --url http://127.0.0.1:8080 --trust trust change.json
`

// help prints what there is to say about a command.
func help(args []string, stdout io.Writer) error {
	topic := ""
	if len(args) > 0 {
		topic = args[0]
	}
	text, ok := map[string]string{
		"": helpMain, "dev": helpDev, "submit": helpSubmit, "follow": helpFollow, "init": helpInit, "serve": helpServe, "config": helpConfig, "keys": helpKeys, "freeze": helpSuccession, "succeed": helpSuccession, "succession": helpSuccession,
		"fsck": helpFsck, "reindex": helpReindex, "export": helpExport,
	}[topic]
	if !ok || len(args) > 1 {
		return usagef("help: there is nothing to say about %q", args)
	}
	return say(stdout, text)
}
