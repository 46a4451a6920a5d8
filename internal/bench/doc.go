// Command bench measures the bridge against a bridge that is written by hand
// for one API, and prints docs/performance.md's tables.
//
// It starts the backend, the hand-written bridge and the bridge each as a
// process of its own, calls them in rounds that take turns, and reads from the
// kernel what time on a CPU each has had. Every answer is checked. What it
// prints are medians of the ratios within a round, because on a shared machine
// no absolute time means anything.
//
//	go run ./internal/bench -markdown
//	go run ./internal/bench -part calls -work Echo,Large -clients 16 -rounds 15
//	go run ./internal/bench -bridge-env GOGC=400 -part calls
//	go run ./internal/bench -profile /tmp/profiles -work Echo
//
// It runs on Linux.
//
// options.go reads the flags, and bed.go starts what is measured: process.go starts
// this program again, in which role.go is the backend of backend.go, the bridge of
// floor.go that is written by hand, or a server of mirror.go; catalog.go has a large
// API. A measurement is calls.go, allocations.go, scale.go or mirror.go. It makes
// sides, which round.go lets take turns with the calls of work.go: client.go
// speaks MCP on a connection of conn.go, check.go compares each answer with what
// must come, and cpu_linux.go reads what time a process has had. stats.go makes
// numbers of the samples, and table.go prints them.
package main
