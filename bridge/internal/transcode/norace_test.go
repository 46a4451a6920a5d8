//go:build !race

package transcode_test

const raceEnabled = false
