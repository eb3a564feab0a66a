// Package rlog is the log engine: it sequences leaves, makes them durable,
// signs, and proves (spec/log.md).
package rlog
