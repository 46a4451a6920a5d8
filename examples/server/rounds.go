package main

import (
	"context"
	"fmt"
	"strings"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// roundTools show what a call can need before it ends: several things at once,
// one after another, and a state in between. They ask again for what is missing
// in the answers.
func roundTools() []*tool {
	return []*tool{
		{name: "test_input_required_result_elicitation", description: "Asks the user for a name", run: askName},
		{name: "test_input_required_result_sampling", description: "Asks the model for a capital", run: askCapital},
		{name: "test_input_required_result_list_roots", description: "Asks for the roots of the client", run: askRoots},
		{name: "test_input_required_result_request_state", description: "Asks the user, with a state", run: askWithState},
		{name: "test_input_required_result_tampered_state", description: "Asks the user, with a state that nobody can change", run: askWithState},
		{name: "test_input_required_result_multiple_inputs", description: "Asks for three things at once", run: askThree},
		{name: "test_input_required_result_multi_round", description: "Asks one thing after another", run: askTwice},
		{name: "test_input_required_result_capabilities", description: "Asks for whatever the client can answer", run: askPossible},
	}
}

const (
	nameQuestion     = "What is your name?"
	capitalQuestion  = "What is the capital of France?"
	greetingQuestion = "Generate a greeting"
)

func askName(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	if name := c.answers().text("user_name", "name"); name != "" {
		return done(text("Hello, " + name + "!"))
	}
	return c.ask("", questions{"user_name": textForm(nameQuestion, "name")})
}

func askCapital(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	if said, ok := c.answers().said("capital_question"); ok {
		return done(text("The model says: " + said))
	}
	return c.ask("", questions{"capital_question": sampling(capitalQuestion, 100)})
}

func askRoots(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	result := c.answers()["client_roots"].GetRoots()
	if result == nil {
		return c.ask("", questions{"client_roots": roots()})
	}
	var uris []string
	for _, root := range result.GetRoots() {
		uris = append(uris, root.GetUri())
	}
	return done(text("Roots: " + strings.Join(uris, ", ")))
}

func askWithState(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	const asked = "asked"
	if _, ok := c.answers().accepted("confirm"); ok && c.state == asked {
		return done(text("state-ok: the state has come back as it was"))
	}
	return c.ask(asked, questions{"confirm": consent("Please confirm")})
}

func askThree(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	name := c.answers().text("user_name", "name")
	greeting, greeted := c.answers().said("greeting")
	found := c.answers()["client_roots"].GetRoots()
	if name != "" && greeted && found != nil {
		return done(text(fmt.Sprintf("%s %s, %d roots", greeting, name, len(found.GetRoots()))))
	}
	return c.ask("asked", questions{
		"user_name":    textForm(nameQuestion, "name"),
		"greeting":     sampling(greetingQuestion, 50),
		"client_roots": roots(),
	})
}

// askTwice keeps in the state what it has been told: the next call may come to
// another replica of the server.
func askTwice(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	name, named := strings.CutPrefix(c.state, "name ")
	if !named {
		if name = c.answers().text("step1", "name"); name == "" {
			return c.ask("start", questions{"step1": textForm("Step 1: What is your name?", "name")})
		}
	}
	color := c.answers().text("step2", "color")
	if color == "" {
		return c.ask("name "+name, questions{"step2": textForm("Step 2: What is your favorite color?", "color")})
	}
	return done(text(name + " likes " + color))
}

func askPossible(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	can, q := c.request.GetMeta().GetClientCapabilities(), questions{}
	if can.GetElicitation() != nil {
		q["user_name"] = textForm(nameQuestion, "name")
	}
	if can.GetSampling() != nil {
		q["greeting"] = sampling(greetingQuestion, 50)
	}
	if can.GetRoots() != nil {
		q["client_roots"] = roots()
	}
	if len(q) == 0 || len(c.answers()) > 0 {
		return done(text("There is nothing more to ask."))
	}
	return c.ask("", q)
}
