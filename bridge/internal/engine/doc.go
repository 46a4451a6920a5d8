// Package engine serves the methods of gRPC and Connect services as one MCP
// server: package bridge is its public face.
//
// [New] checks the [Config] (config.go) and reads the descriptors (refresh.go). Of
// these it makes a catalog (catalog.go), an immutable snapshot of everything that is
// served: tools, with what their authors' options say (annotate.go), and resources,
// prompts and completions (present.go, resources.go, resource_name.go, prompts.go,
// complete.go). Handle (engine.go) answers lists from its pages. A tools/call
// (tools.go) finds its tool, asks the user where an option says so (confirm.go),
// gets its deadline (deadline.go), and goes to package backend; meanwhile
// progress.go tells the client how it gets on. Calls that start a long-running
// operation wait for it (operation.go) or become a task (tasks.go, with all that is
// known of it in its id, taskid.go). A subscription (listen.go) hears when
// refresh.go has made another catalog, of its tasks (tasks_listen.go) and of its
// resources (resource_watch.go). [Engine.Resolve] (resolve.go) reads requests as
// Handle does, and says what they would run. describetype.go describes the types that
// schemas had to leave out.
package engine
