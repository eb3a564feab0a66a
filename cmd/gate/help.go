package main

import "io"

const helpMain = `gate - effects that happen as they were judged, and once a log holds the judgment

USAGE
  gate init   --dir DIR --log URL --policy FILE --trust FILE --rules FILE
  gate run    open NAME | close
  gate exec   -- PROGRAM ARGUMENT...
  gate apply  FOLDER
  gate undo   OUTCOME | last
  gate status [RUN]
  gate sync
  gate disclose STATEMENT [FIELD...]
  gate follow --log URL SUCCESSION
  gate help   [COMMAND]

COMMANDS
  init      make a gate's directory
  run       open a run, close it
  exec      run a command
  apply     change files, after showing how and asking
  undo      take back what apply did
  status    say how a run stands
  sync      send what the log does not have yet, and hold it to its promises
  disclose  open what a statement commits to, for whoever is to see it
  follow    go on in another log, where the log of this gate ended
  help      say more about a command

Every command but init takes --dir DIR, the gate's directory (default .gate).

EXIT STATUS
  0    done
  2    the command line says nothing that could be done
  125  the gate could not do its work, or an effect failed; the reason is on
       standard error
  3    sync: the log's word stands alone for something
  126  nothing happened: denied, discarded, stale, refused
  else exec: the status of the command
`

const helpInit = `gate init - make a gate's directory

USAGE
  gate init --dir DIR --log URL --policy FILE --trust FILE --rules FILE
            [--key FILE] [--root DIR] [--agent NAME] [--patience TIME] [--mode MODE]

  --log       URL of the log
  --policy    its tlog-policy file, log.policy
  --trust     the engine trust file, trust
  --key       private key of the engine, PKCS #8 in PEM, or encrypted by logd keys:
              then its passphrase is in OBSTAT_PASSPHRASE whenever the gate runs.
              Without it one is made, DIR/keys/engine.key; its public half,
              DIR/keys/engine.pub, is for the log's registrar, who has to list
              it under a name
  --rules     Cedar policies (docs/gate.md#policies)
  --root      directory that effects are let into (default: this one)
  --agent     principal of the policies, Agent::"NAME" (default: agent)
  --patience  how long an escalation waits (default: 5m)
  --mode      what an effect waits for (default: strict)
              strict     the log has proven that it holds the judgment
              witnessed  and the witnesses of the policy have cosigned it
              relaxed    the judgment is kept on this machine: it survives the end
                         of the process, not a power cut. Receipts say so

Everything stands in DIR/gate.toml and can be changed there, and besides: env,
names of variables that commands get; check, a command that runs on what apply
has changed; fail_open, faults over which effects happen unjudged.
`

const helpRun = `gate run - open a run, close it

USAGE
  gate run open [--dir DIR] [--also ORIGIN]... NAME
  gate run close [--dir DIR]

A run pins the policy file that it began with: after a change of that, close it
and open another. A name is used once. --also names a log that the run may write
to beside the gate's, such as one that will go on from it.
`

const helpExec = `gate exec - run a command

USAGE
  gate exec [--dir DIR] [--class green|yellow|red] [--origin replay|model|unknown]
            [--stdin] -- PROGRAM ARGUMENT...

The program is looked up in PATH, and its file is judged by name and digest, with
the arguments, the environment (the variables that gate.toml names, no others)
and the working directory: this one, or the root where this one is not inside.
--stdin hands the standard input on. No shell runs unless a
policy names it.

The output is printed when the command has ended, one MiB of each at most.
`

const helpApply = `gate apply - change files, after showing how and asking

USAGE
  gate apply [--dir DIR] [--class CLASS] [--origin ORIGIN] [--delete PATH]... FOLDER
  gate apply --later FOLDER
  gate apply
  gate apply --run FOLDER PROGRAM ARGUMENT...

What stands below FOLDER is what the files of the root are to hold; --delete names
files that are not to be there. The change set is judged, logged and shown: the
exact bytes of what is created, a unified diff of what is replaced. Then one line
is read: yes consents, anything else discards.

  --later  leaves the proposal pending; apply without a folder asks for consent.
           A newer proposal replaces a pending one
  --run    runs a command afterwards, if the check of gate.toml is clean

The check runs on what landed, as an effect of its own.
`

const helpUndo = `gate undo - take back what apply did

USAGE
  gate undo [--dir DIR] OUTCOME | last

OUTCOME is what apply printed. An undo is an effect of its own: judged, logged,
shown, and applied with consent. It overwrites nothing that has changed since.
`

const helpStatus = `gate status - say how a run stands

USAGE
  gate status [--dir DIR] [RUN]

Reads the run that is open, or the one that is named; changes nothing, asks no log
and waits for nobody.

  statements  what was said
  waiting     what the log has not answered yet
  lost        what found no room and is not disclosed yet
  witnessed   answers for which a checkpoint under the whole policy stands
  promises    answers that are the log's word alone
  bygone      those of a log that ended before it kept them
  evidence    files of what the log said that proves nothing, or contradicts it
  committed   effects, and how many of them can be undone
  pending     what waits for consent
  hanging     calls without an outcome
`

const helpSync = `gate sync - send what the log does not have yet, and hold it to its promises

USAGE
  gate sync [--dir DIR]

In every run: what was kept and not answered is sent, in order; what a crash left
open is settled; and every answer that only the log has signed is held against the
log's newest checkpoint and tiles. Where that has the witnesses that the policy
asks for, and the tree extends the promised one, the promise is kept.

Exit status 3: witnesses have not cosigned everything yet. A log that broke a
promise is 125, and what proves it stands in DIR/runs/RUN/evidence; verify fork
judges it.
`

const helpDisclose = `gate disclose - open what a statement commits to, for whoever is to see it

USAGE
  gate disclose [--dir DIR] STATEMENT
  gate disclose [--dir DIR] STATEMENT FIELD...

Receipts hold commitments, not values; the values are in DIR/store. Without a
FIELD the values of the statement are listed, here and for nobody else. With some,
the statement's bundle is written to standard output with those opened, and nothing
else:

  gate disclose bafyr4i... path/0 > b.receipt.json
  verify bundle --policy log.policy --trust trust b.receipt.json

FIELD is a field with its name (path/0, input/branch), a field (path: all of them),
or all. What a bundle discloses is disclosed for good.
`

const helpFollow = `gate follow - go on in another log, where the log of this gate ended

USAGE
  gate follow [--dir DIR] --log URL SUCCESSION

A log ends when its registrars freeze it: it answers LOG-FROZEN, nothing happens
any more, and nothing is lost. SUCCESSION is the file in which they say who goes on
(logd succession makes it). It is verified under the trust files that this gate
has, and kept; no name in an answer of the log is followed. Then --log is where the
gate submits, and gate sync sends there what waits. The engine's key has to be
listed there.

A run that shall cross the border names both logs when it is opened (gate run open
--also). Close one that does not, and open another.

For others: verify --succession FILE, beside the old trust files.
`

func help(args []string, c console) error {
	pages := map[string]string{
		"": helpMain, "init": helpInit, "run": helpRun, "exec": helpExec, "apply": helpApply, "undo": helpUndo, "status": helpStatus,
		"sync": helpSync, "disclose": helpDisclose, "follow": helpFollow,
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	page, ok := pages[name]
	if !ok || len(args) > 1 {
		return usagef("there is no help on %q", args)
	}
	_, err := io.WriteString(c.out, page)
	return err
}
