// Command eval lets a model do tasks with the tools of a bridge, and reports how that
// went. The tasks are of the kinds that models get wrong; the backends are small services
// in this process, whose state says whether a task has been done.
//
// The model is behind an endpoint with the shape of OpenAI's chat completions or of
// Anthropic's messages, named by MCP_EVAL_URL, MCP_EVAL_MODEL, MCP_EVAL_KEY and
// MCP_EVAL_SHAPE; or it is a recording of one, which needs none. docs/eval.md says more.
//
// main.go reads the flags and the environment. agent.go lets a model do one of the tasks of
// task.go: it shows the model what a host shows it, calls the tools of a bridge in front of
// the backends of world.go, and asks the task whether it has been done. The model is one
// of endpoint.go or, in CI, of replay.go. report.go counts.
package main
