package main

const helpConfig = `logd config - print what serve would be told, and by whom

USAGE
  logd config [--config FILE] [any option of logd serve]...

DESCRIPTION
  Prints every setting with its value and where that comes from, in the form of
  a file of settings that says the same. Then it says what is wrong with them,
  if anything is. It opens no log and changes nothing.

  What logd serve is told comes from four places, each before the one above it:

    default
    the file of settings, TOML: --config FILE or OBSTAT_LOGD_CONFIG
    the environment: OBSTAT_LOGD_ and the name in capitals, "." and "-" as "_";
      several values of a list are apart by commas; an empty one says nothing
    the command line: -- and the name, "." as "-"; a list by the flag once for
      each value

  A list that is said again is said anew. A name that is no setting is an error
  in each of them. Paths are relative to the working directory, in the file too.

SETTINGS
  dir                the log's directory
  listen             host:port
  passphrase-file    of the log's key, where it is encrypted
  public             true: reads are for everybody
  anchor             a list: files outside of dir, and witnesses by URL
  tls.cert, tls.key  files of the certificate chain and its key
  admin.socket       a Unix socket for the operator: metrics, status, profiles
  metrics.listen     host:port for Prometheus
  log.format         text or json
  log.level          debug, info, warn or error

  logd help serve says what each does. allow-unreachable-anchors is a word for
  one start: only the command line says it.

EXIT STATUS
  0  serve could begin with these settings
  1  a file could not be read, or the output not be written
  2  something is wrong with the settings

EXAMPLES
  logd config --config /etc/obstat/logd.toml
  OBSTAT_LOGD_LOG_FORMAT=json logd config --dir /var/lib/obstat
  logd config --dir /var/lib/obstat > logd.toml
`
