package main

const helpDev = `logd dev - serve a log for trying things out

USAGE
  logd dev [--dir DIR] [--listen HOST:PORT]

DESCRIPTION
  Makes a log with keys for an engine ("dev") and an approver ("me"), serves it
  on a free port of this machine, and prints its URL and commands to try next.
  The keys lie unencrypted beside the log: nobody should trust what they sign.

  Without --dir the log is in a temporary directory that is deleted at the end.
  With it the log stays, and the next logd dev goes on with it. DIR/rules.cedar
  is a policy that admits everything but commands with the argument "push".

OPTIONS
  --dir DIR            a directory to be made, or one that logd dev made
  --listen HOST:PORT   default 127.0.0.1:0, a free port
`
