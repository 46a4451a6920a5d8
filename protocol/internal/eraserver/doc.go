// Package eraserver serves clients of the revisions that open with initialize,
// 2024-11-05 to 2025-11-25, on top of a [protocol.Handler]. It keeps what those
// revisions keep between requests: the negotiated revision, the client's
// capabilities, its log level, its subscriptions. It keeps no credentials but
// those with which the present subscription was asked for.
//
// A transport opens a [Session] by [Server.Open] (server.go), which asks the
// Handler what it can do and answers initialize. From then on it hands every
// request to [Session.Begin] (session.go), with the [Stream] that reaches the
// client during it. A request becomes one of the modern shape and goes to the
// Handler. Where the result wants input, rounds.go has ask.go put the requests,
// in the form that input.go gives them, to the client, and makes the call again
// with the answers; heartbeat.go tells the client meanwhile that its request is
// under way. downgrade.go takes out of results what the schemas of the client's
// revision forbid. Changes take two ways: listchanged.go holds one subscription
// for the lists of all sessions, subscribe.go one for the resources of each.
// Tasks of 2025-11-25 are those of the extension: tasks.go translates their
// requests, taskbook.go is what a session remembers of them, taskstatus.go tells
// of their changes, and awaitedtask.go waits for the task of a call whose client
// knows none.
package eraserver
