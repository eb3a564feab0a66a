package server

import (
	"net/http"

	"github.com/obstat/obstat/report"
)

// statuses is the one table from codes to HTTP statuses (spec/http.md#errors):
// 400 malformed, 403 a key that is unknown or not for this, 413 over a limit,
// 415 another media type, 421 another host, 422 well-formed and against the
// schema, 500 a fault of the server, 503 busy or read-only. A code that is not
// here is a fault of the server too.
var statuses = map[report.Code]int{
	// The request.
	report.CodeHTTPMethod:   http.StatusMethodNotAllowed,
	report.CodeHTTPPath:     http.StatusNotFound,
	report.CodeHTTPQuery:    http.StatusBadRequest,
	report.CodeHTTPType:     http.StatusUnsupportedMediaType,
	report.CodeHTTPEncoding: http.StatusUnsupportedMediaType,
	report.CodeHTTPBody:     http.StatusBadRequest,
	report.CodeHTTPTimeout:  http.StatusRequestTimeout,
	report.CodeHTTPSize:     http.StatusRequestEntityTooLarge,
	report.CodeHTTPHost:     http.StatusMisdirectedRequest,

	// The envelope.
	report.CodeDSSESyntax:        http.StatusBadRequest,
	report.CodeDSSEUTF8:          http.StatusBadRequest,
	report.CodeDSSETrailing:      http.StatusBadRequest,
	report.CodeDSSEMissing:       http.StatusBadRequest,
	report.CodeDSSEDuplicate:     http.StatusBadRequest,
	report.CodeDSSECase:          http.StatusBadRequest,
	report.CodeDSSEType:          http.StatusBadRequest,
	report.CodeDSSEBase64:        http.StatusBadRequest,
	report.CodeDSSEPayloadSize:   http.StatusRequestEntityTooLarge,
	report.CodeDSSESigCount:      http.StatusBadRequest,
	report.CodeDSSESigSize:       http.StatusBadRequest,
	report.CodeDSSESigOrder:      http.StatusBadRequest,
	report.CodeDSSESigDuplicate:  http.StatusBadRequest,
	report.CodeLeafSize:          http.StatusRequestEntityTooLarge,
	report.CodeLeafForm:          http.StatusBadRequest,
	report.CodePayloadType:       http.StatusUnprocessableEntity,
	report.CodeRegistryElsewhere: http.StatusUnprocessableEntity,
	report.CodeReceiptElsewhere:  http.StatusUnprocessableEntity,

	// Its payload, as encoded.
	report.CodeCBORTruncated:    http.StatusBadRequest,
	report.CodeCBORTrailing:     http.StatusBadRequest,
	report.CodeCBORNotShortest:  http.StatusBadRequest,
	report.CodeCBORIndefinite:   http.StatusBadRequest,
	report.CodeCBORReserved:     http.StatusBadRequest,
	report.CodeCBORFloat:        http.StatusBadRequest,
	report.CodeCBORNull:         http.StatusBadRequest,
	report.CodeCBORSimple:       http.StatusBadRequest,
	report.CodeCBORTag:          http.StatusBadRequest,
	report.CodeCBORLink:         http.StatusBadRequest,
	report.CodeCBORIntRange:     http.StatusBadRequest,
	report.CodeCBORUTF8:         http.StatusBadRequest,
	report.CodeCBORKeyType:      http.StatusBadRequest,
	report.CodeCBORKeyOrder:     http.StatusBadRequest,
	report.CodeCBORKeyDuplicate: http.StatusBadRequest,
	report.CodeCBORDepth:        http.StatusBadRequest,
	report.CodeCIDForm:          http.StatusBadRequest,
	report.CodeCIDText:          http.StatusBadRequest,

	// Its signature and the key.
	report.CodeKeyUnknown:       http.StatusForbidden,
	report.CodeKeyRole:          http.StatusForbidden,
	report.CodeKeyEnded:         http.StatusForbidden,
	report.CodeSignatureInvalid: http.StatusForbidden,
	report.CodeSignerMismatch:   http.StatusForbidden,

	// Its payload, as a statement.
	report.CodeSchemaSize:     http.StatusRequestEntityTooLarge,
	report.CodeSchemaType:     http.StatusUnprocessableEntity,
	report.CodeSchemaMissing:  http.StatusUnprocessableEntity,
	report.CodeSchemaUnknown:  http.StatusUnprocessableEntity,
	report.CodeSchemaArm:      http.StatusUnprocessableEntity,
	report.CodeSchemaWord:     http.StatusUnprocessableEntity,
	report.CodeSchemaCode:     http.StatusUnprocessableEntity,
	report.CodeSchemaName:     http.StatusUnprocessableEntity,
	report.CodeSchemaClear:    http.StatusUnprocessableEntity,
	report.CodeSchemaPath:     http.StatusUnprocessableEntity,
	report.CodeSchemaRange:    http.StatusUnprocessableEntity,
	report.CodeSchemaLength:   http.StatusUnprocessableEntity,
	report.CodeSchemaLink:     http.StatusUnprocessableEntity,
	report.CodeSchemaPin:      http.StatusUnprocessableEntity,
	report.CodeSchemaEmpty:    http.StatusUnprocessableEntity,
	report.CodeSchemaOrder:    http.StatusUnprocessableEntity,
	report.CodeSchemaCall:     http.StatusUnprocessableEntity,
	report.CodeSchemaSeq:      http.StatusUnprocessableEntity,
	report.CodeSchemaPrev:     http.StatusUnprocessableEntity,
	report.CodeSchemaSettles:  http.StatusUnprocessableEntity,
	report.CodeSchemaExpires:  http.StatusUnprocessableEntity,
	report.CodeSchemaRecovery: http.StatusUnprocessableEntity,
	report.CodeSchemaFired:    http.StatusUnprocessableEntity,
	report.CodeSchemaStale:    http.StatusUnprocessableEntity,
	report.CodeSchemaEdit:     http.StatusUnprocessableEntity,
	report.CodeSchemaOpen:     http.StatusUnprocessableEntity,
	report.CodeSchemaTally:    http.StatusUnprocessableEntity,
	report.CodeSchemaGap:      http.StatusUnprocessableEntity,

	// What is asked for.
	report.CodeStatementUnknown: http.StatusNotFound,
	report.CodeIndexAbsent:      http.StatusNotFound,
	report.CodeWitnessesNone:    http.StatusUnprocessableEntity,

	// The registry: a statement that does not follow from the head is a conflict,
	// one that nobody may make is forbidden, one that breaks a rule is void.
	report.CodeRegistryPrev:       http.StatusConflict,
	report.CodeRegistryPlace:      http.StatusConflict,
	report.CodeLogFrozen:          http.StatusGone,
	report.CodeRegistrySigner:     http.StatusForbidden,
	report.CodeRegistryQuorum:     http.StatusForbidden,
	report.CodeSignatureNoKey:     http.StatusForbidden,
	report.CodeRegistrySchema:     http.StatusUnprocessableEntity,
	report.CodeRegistryLog:        http.StatusUnprocessableEntity,
	report.CodeRegistryVersion:    http.StatusUnprocessableEntity,
	report.CodeRegistryThreshold:  http.StatusUnprocessableEntity,
	report.CodeRegistryKeyReused:  http.StatusUnprocessableEntity,
	report.CodeRegistryKeyWeak:    http.StatusUnprocessableEntity,
	report.CodeRegistryKeyForeign: http.StatusUnprocessableEntity,
	report.CodeRegistryRole:       http.StatusUnprocessableEntity,
	report.CodeRegistryStatus:     http.StatusUnprocessableEntity,
	report.CodeRegistryState:      http.StatusUnprocessableEntity,
	report.CodeRegistryLimit:      http.StatusRequestEntityTooLarge,

	// Tiles.
	report.CodeTilePath:   http.StatusNotFound,
	report.CodeBeyondSize: http.StatusNotFound,

	// The log.
	report.CodeBusy:       http.StatusServiceUnavailable,
	report.CodeLogStopped: http.StatusServiceUnavailable,
	report.CodeLogClosed:  http.StatusServiceUnavailable,
	report.CodeLogIO:      http.StatusServiceUnavailable,
	report.CodeLogDamaged: http.StatusInternalServerError,
	report.CodeLogLost:    http.StatusInternalServerError,
	report.CodeInternal:   http.StatusInternalServerError,
}

// statusOf returns the HTTP status that answers code.
func statusOf(code report.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}
