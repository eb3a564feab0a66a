package main

import "io"

const helpMain = `monitor - watch logs of judged effects for everybody

USAGE
  monitor witness init  --dir DIR --name NAME
  monitor witness serve --dir DIR --logs FILE [--listen HOST:PORT]
  monitor version
  monitor help [COMMAND]

COMMANDS
  witness  cosign the checkpoints of logs, each only once it is proven to extend
           the one before
  version  say what was built
  help     say more about a command

EXIT STATUS
  0  done
  1  it could not be done, or what was asked for could not be printed; the
     reason is on standard error, with its code (spec/codes.md)
  2  the command line says nothing that could be done
`

const helpWitness = `monitor witness - cosign the checkpoints of logs

USAGE
  monitor witness init  --dir DIR --name NAME
  monitor witness serve --dir DIR --logs FILE [--listen HOST:PORT]
                        [--refusals N]

DESCRIPTION
  A C2SP tlog-witness. A log sends its newest checkpoint with the proof that
  the tree extends the one that was cosigned before; the witness checks both,
  stores the checkpoint durably, and answers with its cosignature. So of two
  histories of one log it cosigns at most one, whoever asks, and whatever
  crashes. A log that shows it two is refused, and the proof is kept as a file
  that "verify fork" judges.

  init makes a key in DIR and prints the line that a tlog-policy file names
  this witness with; who writes that file adds the URL. It never overwrites.

  serve cosigns until SIGINT or SIGTERM. It prints its URL on standard output
  and a structured log on standard error. TLS is the work of a proxy in front.
  At SIGHUP it reads the list of logs again; one that is malformed leaves the
  old in place. One process at a time serves a directory. After a failed write
  it cosigns nothing until it is started again.

OPTIONS
  --dir DIR        the witness's directory
  --name NAME      the witness's name for ever, best a URL without scheme:
                   witness.example.com/w1
  --logs FILE      which logs are cosigned, in the format of the public witness
                   network (spec/witness.md#log-list)
  --listen HOST:PORT
                   where to listen; 127.0.0.1:8081 where nobody says
  --refusals N     how many refused requests a second one address may cause
                   before it is answered 429 unread; 10 where nobody says, 0
                   for any number, as behind a proxy that hides addresses

FILES
  DIR/witness.key    SECRET, signs cosignatures; Ed25519, PKCS #8 in PEM
  DIR/witness.vkey   the verifier key, to be told to others
  DIR/state/         what was cosigned: a file for each log. It must not be
                     restored from a backup: a witness that forgets may cosign
                     a rollback. A new machine needs a new key
  DIR/state/forks/   evidence against logs: *.fork.json is what "verify fork"
                     judges, *.add-checkpoint are requests whose proof failed

EXAMPLES
  monitor witness init --dir w1 --name witness.example.com/w1
  printf 'logs/v0\nvkey %s\nqpd 86400\n' "$LOG_VKEY" > logs
  monitor witness serve --dir w1 --logs logs
`

func help(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return say(stdout, helpMain)
	}
	pages := map[string]string{"witness": helpWitness}
	page, ok := pages[args[0]]
	if !ok || len(args) > 1 {
		return usagef("there is no help for %q", args)
	}
	return say(stdout, page)
}
