package main

const helpSuccession = `logd freeze, logd succeed, logd succession - how a log ends

USAGE
  logd freeze SOURCE [--successor-trust FILE --successor-policy FILE]
            --out PROPOSAL
  logd succeed SOURCE --predecessor CHAIN --predecessor-trust FILE
            --predecessor-policy FILE --out PROPOSAL
  logd succession --trust FILE --policy FILE --predecessor CHAIN
            --successor CHAIN [--freeze PROPOSAL]... --out FILE

COMMANDS
  freeze      propose the last leaf of a log. With the two trust files of another
              log, as logd init made them, it names that log as the one that
              goes on; without, nobody. Of a log that is frozen and named nobody
              it is the statement that names somebody beside the log
  succeed     propose leaf 1 of the log that goes on: the final tree of the one
              before. Before anything else is submitted to it
  succession  put together, from the registry chain of each, the evidence that
              one goes on as the other, hold it under the trust files of the
              first, and write it: what verify --succession takes

  Proposals are signed as changes of the registry are: logd keys show, sign,
  submit. Those of freeze by the registrars of the log that ends, those of
  succeed by the registrars of the log that goes on. SOURCE is what it is for
  logd keys: --url, --registry, --site or --dir, with --trust and --policy.

  A log's own key is never changed inside the log: a new key is a new log. Where
  the old log can take no leaf any more, because its key is lost or stolen, the
  freeze is signed and not submitted, and given to succession with --freeze;
  several copies of one proposal, each signed by some, add up.

EXAMPLES
  A log goes on under a new key. The new one is made and not yet served to
  engines; then the old one is frozen, and names it:

    logd init --dir new --genesis genesis.json
    logd freeze --url http://127.0.0.1:8080 --trust trust --policy log.policy \
         --successor-trust new/trust --successor-policy new/log.policy \
         --out freeze.json
    logd keys sign --key registrar.key --trust trust freeze.json   # by enough
    logd keys submit --url http://127.0.0.1:8080 --trust trust \
         --policy log.policy --out final.json freeze.json

  The new one names the old one's final tree, and the evidence is put together:

    logd succeed --url http://127.0.0.1:8081 --trust new/trust \
         --policy new/log.policy --predecessor final.json \
         --predecessor-trust trust --predecessor-policy log.policy \
         --out successor.json
    logd keys sign --key registrar.key --trust new/trust successor.json
    logd keys submit --url http://127.0.0.1:8081 --trust new/trust \
         --policy new/log.policy --out first.json successor.json
    logd succession --trust trust --policy log.policy --predecessor final.json \
         --successor first.json --out old-to-new.succession.json
`
