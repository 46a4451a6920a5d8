package main

import (
	"testing"

	"google.golang.org/protobuf/proto"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// A client is told of what it has asked for, as far as there is that, until the
// server is stopped.
func TestListen(t *testing.T) {
	t.Parallel()
	client, stop := start(t)
	stream, err := client.Listen(t.Context(), &mcpv1.ListenRequest{Meta: able(), Notifications: &mcpv1.SubscriptionFilter{
		ToolsListChanged:      new(true),
		ResourcesListChanged:  new(true),
		ResourceSubscriptions: []string{"test://static-text", "test://nope"},
		TaskIds:               []string{"nope"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	next := func() *mcpv1.ListenResponse {
		t.Helper()
		if !stream.Receive() {
			t.Fatalf("the stream has ended: %v", stream.Err())
		}
		return stream.Msg()
	}
	want := &mcpv1.SubscriptionFilter{ToolsListChanged: new(true), ResourceSubscriptions: []string{"test://static-text"}}
	if got := next().GetAcknowledged().GetNotifications(); !proto.Equal(got, want) {
		t.Errorf("acknowledged: %v, want %v", got, want)
	}
	for _, name := range []string{"test_trigger_prompt_change", "test_trigger_tool_change"} {
		if _, err := client.CallTool(t.Context(), request(t, name, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if event := next(); event.GetToolsListChanged() == nil {
		t.Errorf("the client hears %v, which it has not asked for", event)
	}
	list, err := client.ListTools(t.Context(), &mcpv1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got := list.GetTools()[len(list.GetTools())-1].GetName(); got != "passing" {
		t.Errorf("the last tool is %s", got)
	}
	stop()
	if event := next(); event.GetResult() == nil {
		t.Errorf("at the end, the client hears %v", event)
	}
	if stream.Receive() || stream.Err() != nil {
		t.Errorf("after the end: %v, %v", stream.Msg(), stream.Err())
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

// A slow client costs one element for each thing that it has asked for.
func TestPendingChanges(t *testing.T) {
	t.Parallel()
	ls := newListeners()
	tools, one := change{of: toolsList}, change{of: resourceContents, name: "one"}
	l := ls.open(map[change]bool{tools: true, one: true})
	for range 3 {
		for _, c := range []change{one, tools, {of: promptsList}, {of: resourceContents, name: "two"}} {
			ls.notify(c)
		}
	}
	if got := l.take(); len(got) != 2 || got[0] != one || got[1] != tools {
		t.Errorf("pending: %v", got)
	}
	ls.close(l)
	ls.notify(one)
	if got := l.take(); len(got) != 0 {
		t.Errorf("after it is closed: %v", got)
	}
}
