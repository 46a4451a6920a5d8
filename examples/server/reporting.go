package main

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// reportingTools tell how they get on.
func reportingTools() []*tool {
	logging := func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
		for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := c.log(mcpv1.LoggingLevel_LOGGING_LEVEL_INFO, message); err != nil {
				return nil, err
			}
		}
		return done(text("Three messages are for the log."))
	}
	return []*tool{
		{name: "test_tool_with_logging", description: "Logs three messages", run: logging},
		{name: "test_logging_tool", description: "Logs for clients that want it", run: logging},
		{name: "test_tool_with_progress", description: "Tells of its progress", run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
			const total = 100
			for _, progress := range []float64{0, total / 2, total} {
				if err := c.progress(progress, total); err != nil {
					return nil, err
				}
			}
			return done(text("Progress was reported three times."))
		}},
		{name: "test_streaming_elicitation", description: "Tells of its progress and asks for nothing", run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
			if err := c.progress(1, 1); err != nil {
				return nil, err
			}
			return done(text("There was nothing to ask."))
		}},
	}
}

// progress tells how far the call has come, if the client wants to know.
func (c *call) progress(progress, total float64) error {
	token := c.request.GetMeta().GetProgressToken()
	if token == nil {
		return nil
	}
	return c.send(&mcpv1.StreamCallToolResponse{Event: &mcpv1.StreamCallToolResponse_Progress{
		Progress: &mcpv1.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      progress,
			Total:         new(total),
			Message:       fmt.Sprintf("%v of %v", progress, total),
		},
	}})
}

// log sends a message to clients that want messages of its level.
func (c *call) log(level mcpv1.LoggingLevel, message string) error {
	least := c.request.GetMeta().GetLogLevel()
	if least == mcpv1.LoggingLevel_LOGGING_LEVEL_UNSPECIFIED || level < least {
		return nil
	}
	return c.send(&mcpv1.StreamCallToolResponse{Event: &mcpv1.StreamCallToolResponse_LogMessage{
		LogMessage: &mcpv1.LoggingMessageNotificationParams{
			Level:    level,
			Logger:   c.request.GetName(),
			DataForm: &mcpv1.LoggingMessageNotificationParams_Data{Data: structpb.NewStringValue(message)},
		},
	}})
}
