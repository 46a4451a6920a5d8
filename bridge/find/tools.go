package find

import (
	"encoding/json"
	"fmt"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
)

// Input and output schemas of the three tools.
const (
	searchInput = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"What the tool is to do, in a few English words, such as \"create a book\". Leave it out to see some tools of every service."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many tools to show at most. The default is 10."}}}`
	searchOutput = `{"type":"object","properties":{` +
		`"tools":{"type":"array","description":"The best ones first.","items":{"type":"object","properties":{` +
		`"name":{"type":"string"},"description":{"type":"string"}},"required":["name","description"]}},` +
		`"total":{"type":"integer","description":"How many tools fit the query, with those that are not shown."},` +
		`"hint":{"type":"string","description":"What to do when nothing was found."},` +
		`"services":{"type":"array","items":{"type":"string"},"description":"Only when nothing was found: the services there are, with the number of their tools."},` +
		`"some":{"type":"array","items":{"type":"string"},"description":"Only when nothing was found: the names of some tools."}},"required":["tools","total"]}`
	describeInput = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The name of a tool, as ` + SearchTool + ` shows it."}},"required":["name"]}`
	describeOutput = `{"type":"object","properties":{` +
		`"name":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},` +
		`"inputSchema":{"type":"object","description":"The JSON Schema of the arguments."},` +
		`"outputSchema":{"type":"object","description":"The JSON Schema of the structured result."},` +
		`"annotations":{"type":"object"}},"required":["name","inputSchema"]}`
	callInput = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The name of a tool, as ` + SearchTool + ` shows it."},` +
		`"arguments":{"type":"object","description":"The tool's own arguments, as the inputSchema that ` + DescribeTool + ` shows asks for them."}},"required":["name"]}`

	readOnly = `,"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`
)

// listPage returns the list of the three tools that stand for n others.
func listPage(n int) json.RawMessage {
	var tools mcpjson.Array
	for _, t := range []struct{ name, title, description, input, output, annotations string }{
		{
			SearchTool, "Search tools",
			fmt.Sprintf("Finds tools by words. There are %d tools, too many to list: first find one with %s, "+
				"then read how it is called with %s, then call it with %s.", n, SearchTool, DescribeTool, CallTool),
			searchInput, searchOutput, `{"title":"Search tools"` + readOnly,
		},
		{
			DescribeTool, "Describe a tool",
			fmt.Sprintf("Returns the full description of one tool that %s found, and the JSON Schemas of its arguments "+
				"and of its result. Use it before calling a tool for the first time.", SearchTool),
			describeInput, describeOutput, `{"title":"Describe a tool"` + readOnly,
		},
		{
			CallTool, "Call a tool",
			fmt.Sprintf("Calls a tool that %s found and returns the tool's own result. The arguments are those that the "+
				"inputSchema asks for which %s shows.", SearchTool, DescribeTool),
			callInput, "", `{"title":"Call a tool"}`,
		},
	} {
		var o mcpjson.Object
		o.Add("name", jsontok.AppendString(nil, t.name))
		o.Add("title", jsontok.AppendString(nil, t.title))
		o.Add("description", jsontok.AppendString(nil, t.description))
		o.Add("inputSchema", []byte(t.input))
		if t.output != "" {
			o.Add("outputSchema", []byte(t.output))
		}
		o.Add("annotations", []byte(t.annotations))
		tools.Add(o.JSON())
	}
	var page mcpjson.Object
	page.Add("tools", tools.JSON())
	return page.JSON()
}
