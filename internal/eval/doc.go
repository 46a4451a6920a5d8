// Command eval lets a model do tasks with the tools of a bridge, and reports how that
// went. The tasks are of the kinds that models get wrong; the backends are small services
// in this process, whose state says whether a task has been done.
//
// What the model says is a recording.
//
// main.go reads the flags. agent.go lets a model do one of the tasks of
// task.go: it shows the model what a host shows it, calls the tools of a bridge in front of
// the backends of world.go, and asks the task whether it has been done. The model is
// that of replay.go. report.go counts.
package main
