package report

// Code names one refusal or one outcome of a check. Codes are
// [A-Z0-9]+(-[A-Z0-9]+)*, never renamed and never reused (spec/codes.md).
type Code string

// The closed list. One constant, one line of the table below.
const (
	CodeOK       Code = "OK"
	CodeInternal Code = "INTERNAL"

	// Verdicts and origins (verdict).
	CodeVerdictEmpty  Code = "VERDICT-EMPTY"
	CodeVerdictReason Code = "VERDICT-REASON"
	CodeVerdictName   Code = "VERDICT-NAME"
	CodeOriginWord    Code = "ORIGIN-WORD"

	// JSON that has one value (internal/jcs).
	CodeJSONSyntax    Code = "JSON-SYNTAX"
	CodeJSONUTF8      Code = "JSON-UTF8"
	CodeJSONSurrogate Code = "JSON-SURROGATE"
	CodeJSONNumber    Code = "JSON-NUMBER"
	CodeJSONNameTwice Code = "JSON-NAME-TWICE"
	CodeJSONDepth     Code = "JSON-DEPTH"
	CodeJSONTrailing  Code = "JSON-TRAILING"

	// Previews, commitments and tickets (preview).
	CodePreviewSchema     Code = "PREVIEW-SCHEMA"
	CodePreviewValue      Code = "PREVIEW-VALUE"
	CodePreviewTwice      Code = "PREVIEW-TWICE"
	CodePreviewSpelling   Code = "PREVIEW-SPELLING"
	CodePreviewPath       Code = "PREVIEW-PATH"
	CodePreviewIntent     Code = "PREVIEW-INTENT"
	CodePreviewContext    Code = "PREVIEW-CONTEXT"
	CodePreviewSize       Code = "PREVIEW-SIZE"
	CodePreviewSecret     Code = "PREVIEW-SECRET"
	CodePreviewDisclosure Code = "PREVIEW-DISCLOSURE"
	CodePreviewTicket     Code = "PREVIEW-TICKET"

	// DAG-CBOR and CIDs (internal/dagcbor).
	CodeCBORTruncated    Code = "CBOR-TRUNCATED"
	CodeCBORTrailing     Code = "CBOR-TRAILING"
	CodeCBORNotShortest  Code = "CBOR-NOT-SHORTEST"
	CodeCBORIndefinite   Code = "CBOR-INDEFINITE"
	CodeCBORReserved     Code = "CBOR-RESERVED"
	CodeCBORFloat        Code = "CBOR-FLOAT"
	CodeCBORNull         Code = "CBOR-NULL"
	CodeCBORSimple       Code = "CBOR-SIMPLE"
	CodeCBORTag          Code = "CBOR-TAG"
	CodeCBORLink         Code = "CBOR-LINK"
	CodeCBORIntRange     Code = "CBOR-INT-RANGE"
	CodeCBORUTF8         Code = "CBOR-UTF8"
	CodeCBORKeyType      Code = "CBOR-KEY-TYPE"
	CodeCBORKeyOrder     Code = "CBOR-KEY-ORDER"
	CodeCBORKeyDuplicate Code = "CBOR-KEY-DUPLICATE"
	CodeCBORDepth        Code = "CBOR-DEPTH"
	CodeCIDForm          Code = "CID-FORM"
	CodeCIDText          Code = "CID-TEXT"

	// Trees, proofs and tiles (merkle).
	CodeProofRange      Code = "PROOF-RANGE"
	CodeProofEmptyTree  Code = "PROOF-EMPTY-TREE"
	CodeProofLength     Code = "PROOF-LENGTH"
	CodeProofInvalid    Code = "PROOF-INVALID"
	CodeTreeSize        Code = "TREE-SIZE"
	CodeNodeRange       Code = "NODE-RANGE"
	CodeTilePath        Code = "TILE-PATH"
	CodeTileData        Code = "TILE-DATA"
	CodeEntryTooLarge   Code = "ENTRY-TOO-LARGE"
	CodeBundleMalformed Code = "BUNDLE-MALFORMED"

	// Signed notes and checkpoints (checkpoint).
	CodeNoteMalformed              Code = "NOTE-MALFORMED"
	CodeNoteTooLarge               Code = "NOTE-TOO-LARGE"
	CodeNoteDuplicate              Code = "NOTE-DUPLICATE-SIGNATURE"
	CodeCheckpointMalformed        Code = "CHECKPOINT-MALFORMED"
	CodeCheckpointEmptyRoot        Code = "CHECKPOINT-EMPTY-ROOT"
	CodeCheckpointUnsigned         Code = "CHECKPOINT-UNSIGNED"
	CodeCheckpointSignatureInvalid Code = "CHECKPOINT-SIGNATURE-INVALID"
	CodeVKeyMalformed              Code = "VKEY-MALFORMED"
	CodeVKeyID                     Code = "VKEY-ID"
	CodeVKeyType                   Code = "VKEY-TYPE"
	CodeVKeyAmbiguous              Code = "VKEY-AMBIGUOUS"
	CodeTlogProofMalformed         Code = "TLOG-PROOF-MALFORMED"
	CodeAddCheckpointMalformed     Code = "ADD-CHECKPOINT-MALFORMED"

	// Policies and trust files (trust).
	CodePolicySyntax    Code = "POLICY-SYNTAX"
	CodePolicyOctet     Code = "POLICY-OCTET"
	CodePolicyLimit     Code = "POLICY-LIMIT"
	CodePolicyKey       Code = "POLICY-KEY"
	CodePolicyKeyTwice  Code = "POLICY-KEY-TWICE"
	CodePolicyName      Code = "POLICY-NAME"
	CodePolicyMember    Code = "POLICY-MEMBER"
	CodePolicyThreshold Code = "POLICY-THRESHOLD"
	CodePolicyQuorum    Code = "POLICY-QUORUM"
	CodeTrustSyntax     Code = "TRUST-SYNTAX"
	CodeTrustMode       Code = "TRUST-MODE"
	CodeTrustKey        Code = "TRUST-KEY"
	CodeTrustRole       Code = "TRUST-ROLE"
	CodeTrustDigest     Code = "TRUST-DIGEST"

	// The registry in the log (trust).
	CodeRegistryHead       Code = "REGISTRY-HEAD"
	CodeRegistrySchema     Code = "REGISTRY-SCHEMA"
	CodeRegistryLimit      Code = "REGISTRY-LIMIT"
	CodeRegistryType       Code = "REGISTRY-TYPE"
	CodeRegistryPlace      Code = "REGISTRY-PLACE"
	CodeRegistryPin        Code = "REGISTRY-PIN"
	CodeRegistryLog        Code = "REGISTRY-LOG"
	CodeRegistryVersion    Code = "REGISTRY-VERSION"
	CodeRegistryPrev       Code = "REGISTRY-PREV"
	CodeRegistryThreshold  Code = "REGISTRY-THRESHOLD"
	CodeRegistryKeyReused  Code = "REGISTRY-KEY-REUSED"
	CodeRegistryKeyWeak    Code = "REGISTRY-KEY-WEAK"
	CodeRegistryKeyForeign Code = "REGISTRY-KEY-FOREIGN"
	CodeRegistryRole       Code = "REGISTRY-ROLE"
	CodeRegistryStatus     Code = "REGISTRY-STATUS"
	CodeRegistryState      Code = "REGISTRY-STATE"
	CodeRegistrySigner     Code = "REGISTRY-SIGNER"
	CodeRegistryQuorum     Code = "REGISTRY-QUORUM"
	CodeLogFrozen          Code = "LOG-FROZEN"
	CodeLogEnded           Code = "LOG-ENDED"
	CodeSuccessionOpen     Code = "SUCCESSION-OPEN"
	CodeSuccessionMismatch Code = "SUCCESSION-MISMATCH"

	// Envelopes and leaves (dsse).
	CodeDSSESyntax       Code = "DSSE-SYNTAX"
	CodeDSSEUTF8         Code = "DSSE-UTF8"
	CodeDSSETrailing     Code = "DSSE-TRAILING"
	CodeDSSEMissing      Code = "DSSE-MEMBER-MISSING"
	CodeDSSEDuplicate    Code = "DSSE-MEMBER-DUPLICATE"
	CodeDSSECase         Code = "DSSE-MEMBER-CASE"
	CodeDSSEType         Code = "DSSE-MEMBER-TYPE"
	CodeDSSEBase64       Code = "DSSE-BASE64"
	CodeDSSEPayloadSize  Code = "DSSE-PAYLOAD-SIZE"
	CodeDSSESigCount     Code = "DSSE-SIGNATURE-COUNT"
	CodeDSSESigSize      Code = "DSSE-SIGNATURE-SIZE"
	CodeDSSESigOrder     Code = "DSSE-SIGNATURE-ORDER"
	CodeDSSESigDuplicate Code = "DSSE-SIGNATURE-DUPLICATE"
	CodeLeafSize         Code = "LEAF-SIZE"
	CodeLeafForm         Code = "LEAF-FORM"

	// Signatures and their keys (dsse).
	CodeSignatureInvalid Code = "SIGNATURE-INVALID"
	CodeSignatureNoKey   Code = "SIGNATURE-NO-KEY"
	CodeKeyUnknown       Code = "KEY-UNKNOWN"
	CodeKeyForm          Code = "KEY-FORM"
	CodeKeySmallOrder    Code = "KEY-SMALL-ORDER"
	CodeKeyPEM           Code = "KEY-PEM"
	CodeKeyPassphrase    Code = "KEY-PASSPHRASE"

	// Receipts and statements (receipt).
	CodeSchemaSize     Code = "SCHEMA-SIZE"
	CodeSchemaType     Code = "SCHEMA-TYPE"
	CodeSchemaMissing  Code = "SCHEMA-MISSING"
	CodeSchemaUnknown  Code = "SCHEMA-UNKNOWN"
	CodeSchemaArm      Code = "SCHEMA-ARM"
	CodeSchemaWord     Code = "SCHEMA-WORD"
	CodeSchemaCode     Code = "SCHEMA-CODE"
	CodeSchemaName     Code = "SCHEMA-NAME"
	CodeSchemaClear    Code = "SCHEMA-CLEAR"
	CodeSchemaPath     Code = "SCHEMA-PATH"
	CodeSchemaRange    Code = "SCHEMA-RANGE"
	CodeSchemaLength   Code = "SCHEMA-LENGTH"
	CodeSchemaLink     Code = "SCHEMA-LINK"
	CodeSchemaPin      Code = "SCHEMA-PIN"
	CodeSchemaEmpty    Code = "SCHEMA-EMPTY"
	CodeSchemaOrder    Code = "SCHEMA-ORDER"
	CodeSchemaCall     Code = "SCHEMA-CALL"
	CodeSchemaSeq      Code = "SCHEMA-SEQ"
	CodeSchemaPrev     Code = "SCHEMA-PREV"
	CodeSchemaSettles  Code = "SCHEMA-SETTLES"
	CodeSchemaExpires  Code = "SCHEMA-EXPIRES"
	CodeSchemaRecovery Code = "SCHEMA-RECOVERY"
	CodeSchemaFired    Code = "SCHEMA-FIRED"
	CodeSchemaStale    Code = "SCHEMA-STALE"
	CodeSchemaEdit     Code = "SCHEMA-EDIT"
	CodeSchemaOpen     Code = "SCHEMA-OPEN"
	CodeSchemaTally    Code = "SCHEMA-TALLY"
	CodeSchemaGap      Code = "SCHEMA-GAP"
	CodeReceiptJSON    Code = "RECEIPT-JSON"
	CodeVocabulary     Code = "VOCABULARY"

	// Submissions and requests (internal/server).
	CodePayloadType       Code = "PAYLOAD-TYPE"
	CodeProposalMalformed Code = "PROPOSAL-MALFORMED"
	CodeConsent           Code = "CONSENT"
	CodeProposalOther     Code = "PROPOSAL-OTHER"
	CodeRegistryElsewhere Code = "REGISTRY-ELSEWHERE"
	CodeReceiptElsewhere  Code = "RECEIPT-ELSEWHERE"
	CodeSignerMismatch    Code = "SIGNER-MISMATCH"
	CodeKeyRole           Code = "KEY-ROLE"
	CodeKeyEnded          Code = "KEY-ENDED"
	CodeHTTPMethod        Code = "HTTP-METHOD"
	CodeHTTPPath          Code = "HTTP-PATH"
	CodeHTTPQuery         Code = "HTTP-QUERY"
	CodeHTTPType          Code = "HTTP-TYPE"
	CodeHTTPEncoding      Code = "HTTP-ENCODING"
	CodeHTTPBody          Code = "HTTP-BODY"
	CodeHTTPTimeout       Code = "HTTP-TIMEOUT"
	CodeHTTPSize          Code = "HTTP-SIZE"
	CodeHTTPHost          Code = "HTTP-HOST"
	CodeStatementUnknown  Code = "STATEMENT-UNKNOWN"
	CodeIndexAbsent       Code = "INDEX-ABSENT"
	CodeWitnessesNone     Code = "WITNESSES-NONE"

	// The log engine (internal/rlog).
	CodeBusy        Code = "BUSY"
	CodeLogStopped  Code = "LOG-STOPPED"
	CodeLogClosed   Code = "LOG-CLOSED"
	CodeLogLocked   Code = "LOG-LOCKED"
	CodeLogExists   Code = "LOG-EXISTS"
	CodeLogAbsent   Code = "LOG-ABSENT"
	CodeLogDamaged  Code = "LOG-DAMAGED"
	CodeLogLost     Code = "LOG-HISTORY-LOST"
	CodeLogForeign  Code = "LOG-FOREIGN"
	CodeLogRollback Code = "LOG-ROLLBACK"
	CodeLogIO       Code = "LOG-IO"
	CodeBeyondSize  Code = "BEYOND-SIZE"
	CodeLogConfig   Code = "LOG-CONFIG"

	CodeAnchorUnreachable Code = "ANCHOR-UNREACHABLE"
	CodeLogUnreachable    Code = "LOG-UNREACHABLE"

	// What a command was told, and what it works with (cmd/logd).
	CodeUsage          Code = "USAGE"
	CodeFileUnreadable Code = "FILE-UNREADABLE"
	CodeFileUnwritable Code = "FILE-UNWRITABLE"
	CodeListenRefused  Code = "LISTEN-REFUSED"
	CodeTLSPair        Code = "TLS-PAIR"

	// Answers of a log, and what a run keeps (client).
	CodeAnswerStatement Code = "ANSWER-STATEMENT"
	CodeLogForked       Code = "LOG-FORKED"
	CodeRunExists       Code = "RUN-EXISTS"
	CodeRunStore        Code = "RUN-STORE"
	CodeRunLocked       Code = "RUN-LOCKED"
	CodeSpoolFull       Code = "SPOOL-FULL"

	// The gate's own store (gate).
	CodeGateStore Code = "GATE-STORE"

	// Proof bundles and registry chains (bundle).
	CodeProofBundleSize      Code = "BUNDLE-SIZE"
	CodeProofBundleMediaType Code = "BUNDLE-MEDIA-TYPE"
	CodeProofBundleUnknown   Code = "BUNDLE-MEMBER-UNKNOWN"
	CodeProofBundleCase      Code = "BUNDLE-MEMBER-CASE"
	CodeProofBundleMissing   Code = "BUNDLE-MEMBER-MISSING"
	CodeProofBundleType      Code = "BUNDLE-MEMBER-TYPE"
	CodeProofBundleValue     Code = "BUNDLE-MEMBER-VALUE"
	CodeInputEmpty           Code = "INPUT-EMPTY"
	CodeVersionUnknown       Code = "VERSION-UNKNOWN"

	// How a verifier ends a check (bundle, audit).
	CodeTileMissing        Code = "TILE-MISSING"
	CodeProofNotGiven      Code = "PROOF-NOT-GIVEN"
	CodeNotForked          Code = "NOT-FORKED"
	CodeArchive            Code = "ARCHIVE-MALFORMED"
	CodeArchiveEntry       Code = "ARCHIVE-ENTRY"
	CodeResumeOther        Code = "RESUME-OTHER"
	CodeResumeMalformed    Code = "RESUME-MALFORMED"
	CodeTileMismatch       Code = "TILE-MISMATCH"
	CodeRootMismatch       Code = "ROOT-MISMATCH"
	CodeStatementTwice     Code = "STATEMENT-TWICE"
	CodeLogEmpty           Code = "LOG-EMPTY"
	CodeInputUnknown       Code = "INPUT-UNKNOWN"
	CodeInterrupted        Code = "INTERRUPTED"
	CodeNotReached         Code = "NOT-REACHED"
	CodeNotAsked           Code = "NOT-ASKED"
	CodeTrustNotGiven      Code = "TRUST-NOT-GIVEN"
	CodePolicyNotGiven     Code = "POLICY-NOT-GIVEN"
	CodeLogUnknown         Code = "LOG-UNKNOWN"
	CodeLogOther           Code = "LOG-OTHER"
	CodeLogUnsigned        Code = "LOG-UNSIGNED"
	CodeQuorumUnmet        Code = "QUORUM-UNMET"
	CodeRegistryNotGiven   Code = "REGISTRY-NOT-GIVEN"
	CodeRegistryDiverged   Code = "REGISTRY-DIVERGED"
	CodeRegistryOpen       Code = "REGISTRY-OPEN"
	CodeKeyNotListed       Code = "KEY-NOT-LISTED"
	CodeKeyOutOfRange      Code = "KEY-OUT-OF-RANGE"
	CodeKeyDisowned        Code = "KEY-DISOWNED"
	CodeDisclosureUnplaced Code = "DISCLOSURE-UNPLACED"
	CodeDisclosureTwice    Code = "DISCLOSURE-TWICE"
	CodeNothingDisclosed   Code = "NOTHING-DISCLOSED"
	CodeExpectationUnmet   Code = "EXPECTATION-UNMET"

	// Witnesses (witness).
	CodeWitnessLogUnknown Code = "WITNESS-LOG-UNKNOWN"
	CodeWitnessOldSize    Code = "WITNESS-OLD-SIZE"
	CodeWitnessConflict   Code = "WITNESS-CONFLICT"
	CodeWitnessRate       Code = "WITNESS-RATE"
	CodeWitnessStopped    Code = "WITNESS-STOPPED"
	CodeWitnessState      Code = "WITNESS-STATE"
	CodeWitnessLocked     Code = "WITNESS-LOCKED"
	CodeWitnessConfig     Code = "WITNESS-CONFIG"
	CodeWitnessList       Code = "WITNESS-LIST"

	// The laws between receipts (receipt/laws).
	CodeLawNothing       Code = "LAW-NOTHING"
	CodeLawStateLimit    Code = "STATE-LIMIT"
	CodeLawForeign       Code = "LAW-FOREIGN-RUN"
	CodeLawDisowned      Code = "LAW-DISOWNED"
	CodeLawSigner        Code = "LAW-SIGNER-UNKNOWN"
	CodeLawRole          Code = "LAW-ROLE"
	CodeLawVersion       Code = "LAW-VERSION-UNKNOWN"
	CodeLawRepeated      Code = "LAW-REPEATED"
	CodeLaw1Missing      Code = "LAW1-MISSING"
	CodeLaw1Later        Code = "LAW1-LATER"
	CodeLaw1Principal    Code = "LAW1-PRINCIPAL"
	CodeLaw1Run          Code = "LAW1-RUN"
	CodeLaw1Kind         Code = "LAW1-KIND"
	CodeLaw1Receipt      Code = "LAW1-RECEIPT"
	CodeLaw1Request      Code = "LAW1-REQUEST"
	CodeLaw2Denied       Code = "LAW2-DENIED"
	CodeLaw2Undecided    Code = "LAW2-UNDECIDED"
	CodeLaw2Early        Code = "LAW2-EARLY"
	CodeLaw2Rejected     Code = "LAW2-REJECTED"
	CodeLaw2Mismatch     Code = "LAW2-MISMATCH"
	CodeLaw2Late         Code = "LAW2-LATE"
	CodeLaw2LateLogged   Code = "LAW2-LATE-LOGGED"
	CodeLaw2Approval     Code = "LAW2-APPROVAL"
	CodeLaw2Rejection    Code = "LAW2-REJECTION"
	CodeLaw3Fired        Code = "LAW3-FIRED"
	CodeLaw4Twice        Code = "LAW4-TWICE"
	CodeLaw4Again        Code = "LAW4-AGAIN"
	CodeLaw4Approval     Code = "LAW4-APPROVAL"
	CodeLaw5Fork         Code = "LAW5-FORK"
	CodeLaw5Hole         Code = "LAW5-HOLE"
	CodeLaw5Gap          Code = "LAW5-GAP"
	CodeLaw5Contradicted Code = "LAW5-CONTRADICTED"
	CodeLaw5Prev         Code = "LAW5-PREV"
	CodeLaw5Order        Code = "LAW5-ORDER"
	CodeLaw5Tally        Code = "LAW5-TALLY"
	CodeLaw5AfterClose   Code = "LAW5-AFTER-CLOSE"
	CodeLaw5Open         Code = "LAW5-OPEN"
	CodeLaw6Open         Code = "LAW6-OPEN"
	CodeLaw6Hanging      Code = "LAW6-HANGING"
	CodeLaw6Expired      Code = "LAW6-EXPIRED"
	CodeLaw6Closed       Code = "LAW6-CLOSED"
	CodeLaw6Now          Code = "LAW6-NOW"
	CodeLaw7Missing      Code = "LAW7-MISSING"
	CodeLaw7Later        Code = "LAW7-LATER"
	CodeLaw7Kind         Code = "LAW7-KIND"
	CodeLaw7Expected     Code = "LAW7-EXPECTED"
	CodeLaw7Overwrote    Code = "LAW7-OVERWROTE"
	CodeLaw7Unobservable Code = "LAW7-UNOBSERVABLE"
	CodeLaw8Word         Code = "LAW8-WORD"
	CodeLaw8Vocabulary   Code = "LAW8-VOCABULARY"

	// Frozen corpora (corpus).
	CodeCorpusManifest Code = "CORPUS-MANIFEST"
	CodeCorpusDigest   Code = "CORPUS-DIGEST"
	CodeCorpusFile     Code = "CORPUS-FILE"
	CodeCorpusMissing  Code = "CORPUS-MISSING"
	CodeCorpusExtra    Code = "CORPUS-EXTRA"
	CodeCorpusAnswer   Code = "CORPUS-ANSWER"
)

// Meaning is what a code says, in one sentence; a test holds that every code
// has one and that spec/codes.md prints exactly these.
var Meaning = map[Code]string{
	CodeOK:       "the check was made and holds",
	CodeInternal: "a fault of this program, not of the input",

	// Verdicts and origins (verdict).
	CodeVerdictEmpty:  "a set of rule names, reasons or fault codes without a member",
	CodeVerdictReason: "a reason or fault code that is not of the form [A-Z0-9]+(-[A-Z0-9]+)* up to 64 bytes",
	CodeVerdictName:   "a rule name that is not 1 to 128 bytes from [A-Za-z0-9._/@:+-]",
	CodeOriginWord:    "a stage of an origin that is none of the three words",

	// JSON that has one value (internal/jcs).
	CodeJSONSyntax:    "the bytes are not JSON",
	CodeJSONUTF8:      "a JSON text is not valid UTF-8",
	CodeJSONSurrogate: "an escape names half a surrogate pair",
	CodeJSONNumber:    "a number is not in its own shortest ECMAScript spelling, is -0, or is no finite double",
	CodeJSONNameTwice: "an object has the same name twice",
	CodeJSONDepth:     "arrays and objects are nested deeper than 64",
	CodeJSONTrailing:  "something other than white space follows the one JSON value",

	// Previews, commitments and tickets (preview).
	CodePreviewSchema:     "the JSON value is not of the form of a preview or a disclosure",
	CodePreviewValue:      "a byte string or a content is not in its one spelling",
	CodePreviewTwice:      "a list of a preview has the same key twice",
	CodePreviewSpelling:   "a preview is written in another way than its one spelling: a list out of order, or a member that says nothing",
	CodePreviewPath:       "a path is not clean, or leads outside its root, or lies below another path that is changed",
	CodePreviewIntent:     "an intent that its verb does not allow",
	CodePreviewContext:    "a blind, a pin or an approval class is malformed",
	CodePreviewSize:       "a preview is larger than 1,048,576 bytes",
	CodePreviewSecret:     "the run secret is missing, malformed, or not the one that sealed the preview",
	CodePreviewDisclosure: "a disclosure names no place of a receipt, or a value that its field does not hold",
	CodePreviewTicket:     "a ticket or refusal digest is asked of a verdict that has none",

	// DAG-CBOR and CIDs (internal/dagcbor).
	CodeCBORTruncated:    "the input ends before the item it began, or is empty",
	CodeCBORTrailing:     "bytes follow the one item",
	CodeCBORNotShortest:  "an integer, a length or a tag is not written in its shortest form",
	CodeCBORIndefinite:   "an indefinite length or a break code",
	CodeCBORReserved:     "a head that CBOR reserves",
	CodeCBORFloat:        "a floating-point number",
	CodeCBORNull:         "null where an absent value is an absent key",
	CodeCBORSimple:       "undefined or another simple value than true and false",
	CodeCBORTag:          "a tag other than 42",
	CodeCBORLink:         "tag 42 does not hold 0x00 and one well-formed CID",
	CodeCBORIntRange:     "an integer beyond plus or minus 2^53-1",
	CodeCBORUTF8:         "a text is not valid UTF-8",
	CodeCBORKeyType:      "a map key is not a text",
	CodeCBORKeyOrder:     "map keys are not ascending by length, then bytes",
	CodeCBORKeyDuplicate: "the same map key twice",
	CodeCBORDepth:        "lists and maps are nested deeper than 16",
	CodeCIDForm:          "the bytes are not a CIDv1 of dag-cbor with a 32-byte BLAKE3 digest",
	CodeCIDText:          "the text is not the one spelling of a CID",

	// Trees, proofs and tiles (merkle).
	CodeProofRange:      "a proof is asked of an index that is not below the tree size, or from a larger tree to a smaller",
	CodeProofEmptyTree:  "a consistency proof from the empty tree, which is a prefix of every tree; there is nothing to prove",
	CodeProofLength:     "the number of hashes is not the one that the index and the sizes call for",
	CodeProofInvalid:    "the hashes of a proof do not lead to the root",
	CodeTreeSize:        "a tree size above 2^63-1",
	CodeNodeRange:       "a subtree that is not complete in a tree of this size",
	CodeTilePath:        "not the one spelling of the path of a tile or an entry bundle that a tree can have",
	CodeTileData:        "a tile does not have the bytes that its width calls for",
	CodeEntryTooLarge:   "an entry of more than 65,535 bytes",
	CodeBundleMalformed: "the bytes are not the stated number of length-prefixed entries",

	// Signed notes and checkpoints (checkpoint).
	CodeNoteMalformed:              "the bytes are not a C2SP signed note",
	CodeNoteTooLarge:               "a signed note has more bytes or more signature lines than are read",
	CodeNoteDuplicate:              "two signature lines of a note have the same name and key ID",
	CodeCheckpointMalformed:        "the text of a note is not a C2SP tlog-checkpoint",
	CodeCheckpointEmptyRoot:        "a checkpoint of size 0 does not carry the root of the empty tree",
	CodeCheckpointUnsigned:         "no signature line of a checkpoint is by a key that is known here",
	CodeCheckpointSignatureInvalid: "a signature line by a known key does not verify",
	CodeVKeyMalformed:              "the text is not a C2SP signed-note verifier key",
	CodeVKeyID:                     "the key ID of a verifier key is not the one that its name and key give",
	CodeVKeyType:                   "a signature type other than Ed25519 (0x01) and cosignature/v1 (0x04)",
	CodeVKeyAmbiguous:              "two of the known keys have the name and the key ID of one signature line",
	CodeTlogProofMalformed:         "the bytes are not a C2SP tlog-proof",
	CodeAddCheckpointMalformed:     "not the one spelling of a checkpoint with the proof that it extends an older one",
	CodePolicySyntax:               "a line of a tlog-policy file is none of the forms C2SP gives",
	CodePolicyOctet:                "a tlog-policy file holds an octet that is neither tab, newline nor printable",
	CodePolicyLimit:                "a tlog-policy file is larger than the limits say",
	CodePolicyKey:                  "a key of a tlog-policy file is malformed, weak, or of a type that its line cannot use",
	CodePolicyKeyTwice:             "a public key stands on two lines of a tlog-policy file",
	CodePolicyName:                 "a name of a tlog-policy file is defined twice, reserved, or used before it is defined",
	CodePolicyMember:               "a name is a member of two groups, or twice of one",
	CodePolicyThreshold:            "a group's threshold is not a number from 1 to its members",
	CodePolicyQuorum:               "a tlog-policy file does not have exactly one quorum line",
	CodeTrustSyntax:                "a line of an engine trust file is none of the forms, or stands twice or out of place",
	CodeTrustMode:                  "an engine trust file gives both a genesis and keys, or neither",
	CodeTrustKey:                   "a key of an engine trust file is malformed, weak, or listed twice",
	CodeTrustRole:                  "a principal of an engine trust file has two roles, or a word is no role",
	CodeTrustDigest:                "a trust file is not the one whose SHA-256 was given",
	CodeRegistrySchema:             "a registry statement is canonical DAG-CBOR and not of the schema",
	CodeRegistryLimit:              "a registry lists more keys, or a statement is larger, than the limits say",
	CodeRegistryType:               "an envelope in the registry chain does not carry a registry statement",
	CodeRegistryPlace:              "a registry statement stands at the wrong leaf: version 0 at 0, each later one behind the one before",
	CodeRegistryPin:                "the genesis statement is not the one that the trust file pins",
	CodeRegistryLog:                "a registry statement names another log",
	CodeRegistryVersion:            "a registry statement is not the next version",
	CodeRegistryPrev:               "a registry statement does not name the statement before it",
	CodeRegistryThreshold:          "a registry threshold is not between 1 and the registrars that can sign",
	CodeRegistryKeyReused:          "a registry statement lists a key a second time",
	CodeRegistryKeyWeak:            "a registry statement lists a key that is no point, not canonical or of small order",
	CodeRegistryKeyForeign:         "a registry statement lists a key of the log or of a witness",
	CodeRegistryRole:               "a principal would be both engine and approver",
	CodeRegistryStatus:             "a key's status would move back: unknown, retired or revoked already, or revoked from a later leaf",
	CodeRegistryState:              "the state digest is not that of the folded registry",
	CodeRegistrySigner:             "a registry statement is signed by a key that is no registrar",
	CodeLogEnded:                   "the leaf stands behind the tree at which its log ended, by its registrars",
	CodeSuccessionOpen:             "nothing shows who goes on where the log ended",
	CodeSuccessionMismatch:         "the log that ended and the one that goes on do not name each other, or not the same tree",
	CodeLogFrozen:                  "the log was frozen by its registrars, and nothing stands behind that leaf",
	CodeRegistryQuorum:             "fewer registrars signed than the threshold asks, before or after the statement",
	CodeDSSESyntax:                 "the bytes are not one JSON object, or nest too deep",
	CodeDSSEUTF8:                   "the JSON is not valid UTF-8, or a string holds half of a surrogate pair",
	CodeDSSETrailing:               "something other than white space follows the envelope",
	CodeDSSEMissing:                "an envelope or signature lacks a member that DSSE requires",
	CodeDSSEDuplicate:              "a member stands twice in an envelope or signature",
	CodeDSSECase:                   "a member is spelt like one of DSSE but for upper and lower case",
	CodeDSSEType:                   "a member is not of the JSON type that DSSE gives it",
	CodeDSSEBase64:                 "a member is not base64 in one alphabet, padded or not, with its spare bits zero",
	CodeDSSEPayloadSize:            "the payload is larger than the limit",
	CodeDSSESigCount:               "an envelope has no signature, or more than may stand here",
	CodeDSSESigSize:                "a signature is not the 64 bytes of Ed25519",
	CodeDSSESigOrder:               "the signatures are not strictly ascending by key",
	CodeDSSESigDuplicate:           "two signatures by one key",
	CodeLeafSize:                   "the leaf is larger than a log entry can be",
	CodeLeafForm:                   "the bytes are canonical DAG-CBOR and not a leaf",
	CodeSignatureInvalid:           "a signature does not hold under the key it is bound to",
	CodeSignatureNoKey:             "none of the candidate keys made the signature",
	CodeKeyUnknown:                 "the key that a signature is bound to is not known here",
	CodeKeyForm:                    "an Ed25519 public key is not the canonical encoding of a point",
	CodeKeySmallOrder:              "an Ed25519 public key has small order, so signatures under it prove nothing",
	CodeKeyPassphrase:              "an encrypted key file could not be opened: no passphrase was given, or another",
	CodeKeyPEM:                     "the text is not one PEM block with one Ed25519 public key",

	// Receipts and statements (receipt).
	CodeSchemaSize:     "a statement is longer than 64,000 bytes",
	CodeSchemaType:     "an item is of another CBOR type than the schema says",
	CodeSchemaMissing:  "a field that the schema requires is absent",
	CodeSchemaUnknown:  "a field that the schema does not know",
	CodeSchemaArm:      "a sum is not a map of exactly one of its arms",
	CodeSchemaWord:     "a word is none of its closed list",
	CodeSchemaCode:     "a text is not a code: [A-Z0-9]+(-[A-Z0-9]+)*, at most 64 bytes",
	CodeSchemaName:     "a text is not a name: 1 to 128 bytes of [A-Za-z0-9._/@:+-]",
	CodeSchemaClear:    "a value in the clear is not in the one clear form, or not 1 to 1,024 bytes",
	CodeSchemaPath:     "a path in the clear is not relative, clean and inside the root",
	CodeSchemaRange:    "an integer is outside the range of its field",
	CodeSchemaLength:   "a byte string does not have the length of its field",
	CodeSchemaLink:     "a link is not a CIDv1 of dag-cbor and BLAKE3-256",
	CodeSchemaPin:      "a pin is not a multihash of BLAKE3-256 or SHA-256",
	CodeSchemaEmpty:    "a set or map that must say something is empty",
	CodeSchemaOrder:    "the items of a set are not strictly ascending by their key",
	CodeSchemaCall:     "a call has a field that calls of its kind do not have",
	CodeSchemaSeq:      "seq is 0 exactly for a run-open",
	CodeSchemaPrev:     "prev stands exactly where seq is not 0",
	CodeSchemaSettles:  "settles stands exactly in the call of an outcome or a decision",
	CodeSchemaExpires:  "expires stands exactly in the call of a judgment that escalates, and is not before at",
	CodeSchemaRecovery: "a recovery stands exactly beside a deny or an escalate",
	CodeSchemaFired:    "an outcome is diverged and what was about to be fired is what was judged",
	CodeSchemaStale:    "an outcome is stale and what was seen is what was expected",
	CodeSchemaEdit:     "a change has neither before nor after",
	CodeSchemaOpen:     "a fault is open and does not say which request it let through",
	CodeSchemaTally:    "a run-close counts other statements than its tallies add up to",
	CodeSchemaGap:      "a gap is larger than the places before it",
	CodeReceiptJSON:    "the JSON is not the view of a receipt or statement",
	CodeVocabulary:     "the bytes are not a vocabulary",

	// Submissions and requests (internal/server).
	CodePayloadType:       "the payloadType of an envelope is not one that is accepted here",
	CodeProposalMalformed: "the file is no proposal of a registry statement",
	CodeConsent:           "whoever was asked at the terminal did not agree",
	CodeProposalOther:     "two files propose different statements, so their signatures do not add up",
	CodeRegistryElsewhere: "a registry statement was submitted as a receipt",
	CodeReceiptElsewhere:  "a receipt was submitted as a registry statement",
	CodeSignerMismatch:    "the signature is by another key than the one that the statement names as its signer",
	CodeKeyRole:           "the role of the signing key does not sign this kind of statement",
	CodeKeyEnded:          "the signing key was retired or revoked and may sign no new statement",
	CodeHTTPMethod:        "the path does not take this HTTP method",
	CodeHTTPPath:          "there is nothing under this path",
	CodeHTTPQuery:         "a query parameter that the path does not take, or a value that it cannot have",
	CodeHTTPType:          "the Content-Type of a request is none that is accepted here",
	CodeHTTPEncoding:      "the Content-Encoding of a request is none that is accepted here",
	CodeHTTPBody:          "the body of a request ended before its stated length, or could not be read",
	CodeHTTPTimeout:       "the body of a request did not come in time",
	CodeHTTPSize:          "the body of a request is larger than the limit",
	CodeHTTPHost:          "the request is for a host that this server does not answer for",
	CodeStatementUnknown:  "a statement that stands in no leaf of this log so far",
	CodeIndexAbsent:       "a question to an index that this log does not keep",
	CodeWitnessesNone:     "a wait for witnesses on a log that has none",

	// The log engine (internal/rlog).
	CodeBusy:              "the queue is full: nothing of the submission was kept, try again",
	CodeLogStopped:        "a write or sync of the log failed: nothing more is accepted until a person restarts it",
	CodeLogClosed:         "the log is closed or closing",
	CodeLogLocked:         "another process has the log directory open",
	CodeLogExists:         "there is a log in the directory already",
	CodeLogAbsent:         "there is no log in the directory",
	CodeLogDamaged:        "stored bytes of the log are not what was written",
	CodeLogLost:           "a part of the log that must exist is missing",
	CodeLogForeign:        "the log belongs to another origin or another key",
	CodeLogRollback:       "a signed checkpoint of this log is ahead of it or contradicts it",
	CodeLogIO:             "the file system refused an operation",
	CodeBeyondSize:        "the tree has no such leaf, size, tile or width yet",
	CodeLogConfig:         "the settings of the log contradict each other or are incomplete",
	CodeLogUnreachable:    "a log that was asked over the network did not answer, or something else did",
	CodeAnchorUnreachable: "a configured anchor could not say what it knows of the log",

	// What a command was told, and what it works with (cmd/logd).
	CodeUsage:          "the command line says nothing that could be done",
	CodeFileUnreadable: "a file or directory that a command needs cannot be read",
	CodeFileUnwritable: "a file, a directory or an output cannot be written",
	CodeListenRefused:  "the address to listen on cannot be had",
	CodeTLSPair:        "a certificate and its key do not fit, or are none",

	// Answers of a log, and what a run keeps (client).
	CodeAnswerStatement:      "a log's answer is about another statement than the one it was asked about",
	CodeLogForked:            "a log signed two roots for one tree size",
	CodeRunExists:            "the directory of a new run holds a run already",
	CodeRunStore:             "what a run's directory holds is not that run's statements in order",
	CodeRunLocked:            "another process speaks for the run",
	CodeSpoolFull:            "more waits for the log than a spool may hold",
	CodeGateStore:            "a file of the gate's store is not what the gate wrote there",
	CodeProofBundleSize:      "a proof bundle, registry chain or envelope is larger than the limit",
	CodeProofBundleMediaType: "the JSON does not say that it is a proof bundle, or a registry chain where one is asked for",
	CodeProofBundleUnknown:   "a proof bundle has a member that its format does not",
	CodeProofBundleCase:      "a member of a proof bundle is spelt right but for upper and lower case",
	CodeProofBundleMissing:   "a proof bundle lacks a member that its format has",
	CodeProofBundleType:      "a member of a proof bundle is not of the JSON type that its format gives it",
	CodeProofBundleValue:     "a member of a proof bundle is of the right JSON type and not of the form asked for",
	CodeInputEmpty:           "the input has no bytes, so there is nothing to check",
	CodeVersionUnknown:       "the artifact is of a version that this program does not know",
	CodeRegistryHead:         "the registry chain contradicts the as-of line of the trust file",
	CodeNotReached:           "the check rests on another that did not hold, and was not made",
	CodeNotAsked:             "the caller asked for less than this check",
	CodeTrustNotGiven:        "no engine trust file was given, so no key is known",
	CodePolicyNotGiven:       "no tlog-policy file was given, so no log or witness key is known",
	CodeLogUnknown:           "the policy has no log of the checkpoint's origin",
	CodeLogOther:             "the engine trust file is for another log than the checkpoint",
	CodeLogUnsigned:          "the checkpoint has no line by a key that the policy lists for its origin",
	CodeQuorumUnmet:          "fewer witnesses cosigned than the policy's quorum asks",
	CodeRegistryNotGiven:     "neither the artifact nor the caller gave a registry chain",
	CodeRegistryDiverged:     "two registry chains of one log, both signed and logged, do not begin alike",
	CodeRegistryOpen:         "nothing shows that no later registry leaf exists; it is the log's promise",
	CodeKeyNotListed:         "the registry shows that the key was not listed at the leaf's index",
	CodeKeyOutOfRange:        "the trust file does not vouch for the key at the leaf's index",
	CodeKeyDisowned:          "a registry leaf disowns what the key signed from this index or an earlier one on",
	CodeDisclosureUnplaced:   "a disclosure opens no commitment of the receipt",
	CodeDisclosureTwice:      "two disclosures of one field and name",
	CodeNothingDisclosed:     "the artifact carries no disclosure to check",
	CodeExpectationUnmet:     "the content is not what the caller expects",
	CodeInputUnknown:         "the bytes are none of the artifacts that this program reads",
	CodeInterrupted:          "the work was interrupted before the check was made",

	// Witnesses (witness).
	CodeWitnessLogUnknown: "the origin is not on the witness's list of logs, or was never cosigned",
	CodeWitnessOldSize:    "the old size of an add-checkpoint request is above the size of its checkpoint",
	CodeWitnessConflict:   "the old size of an add-checkpoint request is not that of the checkpoint cosigned last",
	CodeWitnessRate:       "more requests than the witness takes",
	CodeWitnessStopped:    "the witness does not cosign: a write failed, or it is ending",
	CodeWitnessState:      "what a witness keeps of a log is not what a witness wrote",
	CodeWitnessLocked:     "another process has the witness's directory",
	CodeWitnessConfig:     "a witness was configured with keys or logs that cannot be",
	CodeWitnessList:       "a list of logs is malformed",

	// The laws between receipts (receipt/laws).
	CodeLawNothing:       "no statement of a run was there to be held against the laws",
	CodeLawStateLimit:    "the laws need more state than was allowed, and no sorter was given",
	CodeLawForeign:       "a run-open does not list this log among those that its run writes to",
	CodeLawDisowned:      "a leaf that the run or the law rests on is disowned",
	CodeLawSigner:        "a statement is signed by a key that is nobody's here",
	CodeLawRole:          "a statement is signed in a role that does not sign its kind",
	CodeLawVersion:       "a statement of the run is of a version that this program does not know",
	CodeLawRepeated:      "one statement stands in two leaves, which is the log's fault",
	CodeLaw1Missing:      "an outcome answers a statement that is not in the log",
	CodeLaw1Later:        "an outcome stands in the log before what it answers",
	CodeLaw1Principal:    "an outcome answers another principal's statement",
	CodeLaw1Run:          "an outcome answers a statement of another run",
	CodeLaw1Kind:         "an outcome answers neither a judgment, nor an open fault, nor an outcome that is left open",
	CodeLaw1Receipt:      "an outcome names another receipt than that of the statement it answers",
	CodeLaw1Request:      "an outcome names another request than the statement it answers",
	CodeLaw2Denied:       "an effect was attempted although it had been denied",
	CodeLaw2Undecided:    "an effect that had been escalated was attempted before anybody had decided",
	CodeLaw2Early:        "the first decision stands in the log before the judgment that it answers",
	CodeLaw2Rejected:     "an effect was attempted although the first decision rejects it",
	CodeLaw2Mismatch:     "the first decision names another judgment, request or ticket",
	CodeLaw2Late:         "the first decision was made after the escalation had expired, by the approver's own clock",
	CodeLaw2LateLogged:   "a cosignature later than the expiry covers a tree that does not yet hold the decision",
	CodeLaw2Approval:     "an attempt does not name exactly the decision that it rests on",
	CodeLaw2Rejection:    "an outcome says that a person said no, and no such decision stands before it",
	CodeLaw3Fired:        "what was fired is not what was judged",
	CodeLaw4Twice:        "two outcomes settle one statement",
	CodeLaw4Again:        "an outcome settles an outcome that had settled its call",
	CodeLaw4Approval:     "one approval was used for two calls",
	CodeLaw5Fork:         "two statements stand in one place of a run",
	CodeLaw5Hole:         "statements of a run are missing and no gap says so",
	CodeLaw5Gap:          "statements of a run are missing, as a gap says",
	CodeLaw5Contradicted: "a statement that a gap says was lost is there",
	CodeLaw5Prev:         "a statement does not link to the one before it in its run",
	CodeLaw5Order:        "statements of a run stand in the log in another order than their seq",
	CodeLaw5Tally:        "a run-close counts other statements than the run has",
	CodeLaw5AfterClose:   "a statement stands behind the run-close of its run",
	CodeLaw5Open:         "a run is open, so that later statements may be missing",
	CodeLaw6Open:         "a run is open",
	CodeLaw6Hanging:      "a call that may be fired has no outcome yet",
	CodeLaw6Expired:      "an escalation is past its expiry and has no outcome yet",
	CodeLaw6Closed:       "a run was closed over a call that hangs",
	CodeLaw6Now:          "an escalation without an outcome may have expired, and the time is not known",
	CodeLaw7Missing:      "a compensation names an outcome that is not in this log",
	CodeLaw7Later:        "a compensation stands in the log before what it compensates",
	CodeLaw7Kind:         "a compensation names a statement that is not an outcome",
	CodeLaw7Expected:     "a compensation compared with something that the compensated outcome did not record",
	CodeLaw7Overwrote:    "an effect was undone over a value that had changed since",
	CodeLaw7Unobservable: "an effect was undone and nothing could be compared",
	CodeLaw8Word:         "a word is not in the vocabulary that the run pinned",
	CodeLaw8Vocabulary:   "the vocabulary that the run pinned is not known here, or no run-open says which it is",
	CodeTileMissing:      "a file that the tree of this size needs is not in the directory",
	CodeProofNotGiven:    "two trees of different size, and neither a proof nor tiles to make one from",
	CodeNotForked:        "the two checkpoints do not contradict each other",
	CodeArchive:          "an archive that does not read as one to its end",
	CodeArchiveEntry:     "an entry of an archive that no log has: a link, a device, a path out of it, a name twice, a file with holes",
	CodeResumeOther:      "a state of another log, of another history, or under other trust files",
	CodeResumeMalformed:  "not a state that an audit wrote, or one of another version",
	CodeTileMismatch:     "a hash tile does not hold the hashes of what stands below it",
	CodeRootMismatch:     "the entries do not lead to the root of the checkpoint",
	CodeStatementTwice:   "one statement stands in two leaves",
	CodeLogEmpty:         "the log has no leaf, so not even its registry",

	// Frozen corpora (corpus).
	CodeCorpusManifest: "the manifest of a corpus, or a list of claims in it, is not of its form",
	CodeCorpusDigest:   "a manifest does not have the digest that it states, or that the caller pinned",
	CodeCorpusFile:     "a file of a corpus is not the one whose digest stands in the manifest",
	CodeCorpusMissing:  "a file that a corpus needs is not there",
	CodeCorpusExtra:    "a corpus holds something that its manifest does not list",
	CodeCorpusAnswer:   "a case of a corpus did not get the answer and code that the manifest fixes",
}
