// Package document reads a file that people write, as YAML, as JSON or as JSON
// with comments, into a message. It reports every fault at once, each with its
// line and column.
//
// [Parse] turns text into a tree of [Node] values that know where they stand:
// yaml.go reads YAML and bounds its aliases, json.go reads JSON. The caller may
// change texts in the tree, such as expand references to variables. [Decode]
// writes the tree as JSON, in which scalars have the kind that their fields ask
// for, and leaves the rest to package transcode: names, enum literals,
// durations, numbers. A violation names a path, and the path leads back to the
// node. What has a fault is left out and the rest is decoded again, so that
// later checks see as much of the message as possible.
package document
