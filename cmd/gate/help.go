package main

import "io"

const helpMain = `gate - effects that happen as they were judged, and once a log holds the judgment

USAGE
  gate init   --dir DIR --log URL --policy FILE --trust FILE --key FILE --rules FILE
  gate run    open NAME | close
  gate exec   -- PROGRAM ARGUMENT...
  gate apply  FOLDER
  gate undo   OUTCOME | last
  gate status
  gate help   [COMMAND]

COMMANDS
  init     make a gate's directory
  run      open a run, close it
  exec     run a command
  apply    change files, after showing how and asking
  undo     take back what apply did
  status   say how the run stands
  help     say more about a command

Every command but init takes --dir DIR, the gate's directory (default .gate).

EXIT STATUS
  0    done
  2    the command line says nothing that could be done
  125  the gate could not do its work, or an effect failed; the reason is on
       standard error
  126  nothing happened: denied, discarded, stale, refused
  else exec: the status of the command
`

const helpInit = `gate init - make a gate's directory

USAGE
  gate init --dir DIR --log URL --policy FILE --trust FILE --key FILE --rules FILE
            [--root DIR] [--agent NAME] [--patience TIME]

  --log       URL of the log
  --policy    its tlog-policy file, log.policy
  --trust     the engine trust file, trust
  --key       private key of the engine, PEM; the log's registry lists it
  --rules     Cedar policies (docs/gate.md#policies)
  --root      directory that effects are let into (default: this one)
  --agent     principal of the policies, Agent::"NAME" (default: agent)
  --patience  how long an escalation waits (default: 5m)

Everything stands in DIR/gate.toml and can be changed there, and besides: env,
names of variables that commands get; check, a command that runs on what apply
has changed; fail_open, faults over which effects happen unjudged.
`

const helpRun = `gate run - open a run, close it

USAGE
  gate run open [--dir DIR] NAME
  gate run close [--dir DIR]

A run pins the policy file that it began with: after a change of that, close it
and open another. A name is used once.
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

const helpStatus = `gate status - say how the run stands

USAGE
  gate status [--dir DIR]

How many statements the run has, how many of the effects that were committed can
be undone, and what waits for consent.
`

func help(args []string, c console) error {
	pages := map[string]string{
		"": helpMain, "init": helpInit, "run": helpRun, "exec": helpExec, "apply": helpApply, "undo": helpUndo, "status": helpStatus,
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
