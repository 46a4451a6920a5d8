// Package mux serves several MCP servers as one [protocol.Handler], decides who may
// call what of them, and follows changes of the configuration while it runs. It is
// there for one server too, which it leaves as it is: _meta, unknown members, methods
// of extensions, serverInfo and cursors pass untouched.
//
// [New] makes a [Mux] of a [Config], [Mux.Apply] gives it another one, and [Mux.View]
// returns an [Endpoint] that shows less. [Mux.OwnNames] shows one upstream under the
// names that it has itself.
//
// A request passes through the files like this. A view (view.go) takes the present
// snapshot (snapshot.go), which holds everything that is configured and never changes.
// call.go finds the upstream of a name or URI (names.go, uri.go, index.go) and adds
// fixed arguments; a task is found by its sealed id (task.go, sealed.go). guard.go asks
// the guard, and the user where the guard wants that. Then conn.go passes the request
// to the upstream, which it opens, probes, retries, drains and closes, and rewrite.go
// gives the result public names. Lists (list.go) come from what listing.go has read of
// each upstream, compile.go has renamed and filtered, and the guard shows; shown.go has
// them for tool search. listen.go serves subscriptions: changes of lists from hub.go,
// resources and tasks from the upstreams.
//
// Names are a function of the configuration alone, never of which upstream was there
// first. See [Prefix].
//
// An upstream that cannot be reached takes only its own part with it: lists leave it
// out and name it in their _meta, under [MetaUnavailable], its calls fail, and it comes
// back by itself. One call that fails takes nothing down.
//
// Glossary: an own name is what an upstream calls something, a public name what
// clients call it. A member is an upstream as one snapshot has it, a conn the running
// upstream below. A list is what clients ask for, a listing what one upstream answers.
package mux
