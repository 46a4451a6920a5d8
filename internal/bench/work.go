package main

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	benchv1 "github.com/mcp-bridge/mcp-bridge/gen/bench/v1"
)

// largeOrders makes 195 KB of JSON.
const largeOrders = 120

// work is one kind of call: what goes in and what must come out.
type work struct {
	name  string
	tool  string
	goal  float64 // CPU per call, as a multiple of the floor's
	calls int     // of one round, unless told otherwise
	// arguments is the request as JSON, want the response.
	arguments []byte
	want      proto.Message
}

// works returns the kinds of calls.
func works() ([]work, error) {
	list := []struct {
		name  string
		goal  float64
		calls int
		in    proto.Message
		out   proto.Message
	}{
		{
			"Echo", .75, 1500,
			&benchv1.EchoRequest{Name: echoName, Text: echoText, Count: 42, Loud: true},
			&benchv1.EchoResponse{Name: echoName, Text: echoText, Count: 42, Loud: true},
		},
		{"Medium", .50, 800, &benchv1.MediumRequest{Order: order(1)}, &benchv1.MediumResponse{Order: order(1)}},
		{"Large", .40, 40, &benchv1.LargeRequest{Orders: orders()}, &benchv1.LargeResponse{Orders: orders()}},
		{
			"Fetch", .30, 60,
			&benchv1.FetchRequest{Name: echoName, Text: echoText, Count: 42, Loud: true},
			&benchv1.FetchResponse{Orders: orders()},
		},
	}
	all := make([]work, 0, len(list))
	for _, l := range list {
		arguments, err := toJSON(l.in)
		if err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", l.name, err)
		}
		all = append(all, work{
			name: l.name, tool: "BenchService_" + l.name, goal: l.goal, calls: l.calls,
			arguments: arguments, want: l.out,
		})
	}
	return all, nil
}

const (
	echoName = "shelves/1/books/2"
	echoText = "it is a truth acknowledged"
)

func orders() []*benchv1.Order {
	all := make([]*benchv1.Order, largeOrders)
	for i := range all {
		all[i] = order(i)
	}
	return all
}

// order returns the order of a number: 1.7 KB of JSON, the same every time.
func order(i int) *benchv1.Order {
	created := time.Date(2026, 7, 28, 12, i%60, 30, 123_000_000, time.UTC)
	o := &benchv1.Order{
		Name:       fmt.Sprintf("customers/%d/orders/%d", 1000+i, 77_000+i),
		Number:     9_007_199_254_740_993 + int64(i),
		State:      benchv1.State_STATE_PAID,
		CreateTime: timestamppb.New(created),
		UpdateTime: timestamppb.New(created.Add(36 * time.Hour)),
		Customer: &benchv1.Customer{
			Name:  "Ada \"Countess\" Lovelace",
			Email: fmt.Sprintf("ada.%d@example.com", i),
			Address: &benchv1.Address{
				Lines:      []string{"12 St James's Square", "Second floor, left"},
				City:       "Zürich",
				PostalCode: "8001",
				RegionCode: "CH",
			},
			Verified: true,
		},
		Labels:    map[string]string{"channel": "web", "campaign": "summer-2026", "locale": "de-CH"},
		Stock:     map[string]int64{"main": 1_200_000_000_000 + int64(i), "riverside": 7},
		Notes:     []string{"Leave it with the neighbour.", "Gift wrap:\nblue paper"},
		Discount:  0.125,
		Signature: []byte("signature of this order, in bytes"),
		Ratings:   []int32{5, 4, 5, 3},
	}
	for j, title := range []string{"The Analytical Engine", "Notes on a Sketch", "Bernoulli Numbers", "Diagrams", "Letters", "Tables of Logarithms"} {
		o.Lines = append(o.Lines, &benchv1.Line{
			Sku:         fmt.Sprintf("SKU-%06d-%d", i, j),
			Title:       title,
			Quantity:    int32(j + 1),
			PriceMicros: 19_990_000 + int64(i*j),
			State:       benchv1.State_STATE_SHIPPED,
			Attributes:  map[string]string{"binding": "cloth", "colour": "navy"},
		})
	}
	return o
}
