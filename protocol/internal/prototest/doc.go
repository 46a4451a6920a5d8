// Package prototest has what the tests of the fronts share: a Handler that
// does what its caller asks for, and the runners of the transcripts in
// testdata directories.
//
// A transcript is a txtar file. transcript.go reads its settings and compares
// or rewrites it; http.go and stdio.go play its steps against a front that the
// test starts, and write down what comes back. The front asks the Handler of
// handler.go and tasks.go, which the steps can hold, release and trigger.
// client.go has single requests for tests that are no transcripts.
package prototest
