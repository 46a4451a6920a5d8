// Package config reads the configuration of a gateway, mcpbridge.config.v1, from
// files that people write.
//
// [Load] reads a file as YAML or JSON, or the file of an MCP host such as Claude
// Desktop or Visual Studio Code as it is. Its error has every fault at once,
// each as file:line:column, path and problem. [Validate] checks a configuration
// that a program has made, [WithDefaults] fills in what is not set, and
// [File.YAML] prints the result. [JSONSchema] is for editors, and [Watch] tells
// when a file, or what it depends on, has changed.
//
// Data passes through the files like this. Package document makes a tree of the
// text (load.go); host.go makes the tree of a configuration of that of a host's
// file. expand.go replaces references such as ${TOKEN} in the texts, and
// remembers them. Package document decodes the tree into a message by the codec.
// load.go makes paths absolute and looks whether the files are there. check.go
// applies the rules of the types, and those that span keys; kind.go says which
// keys an upstream takes. defaults.go and print.go go the other way.
package config
