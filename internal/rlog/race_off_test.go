//go:build !race

package rlog

const raceBuild = false
