package transcode_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

// benchmarkMessages are a message of some fields and a list of a hundred such.
func benchmarkMessages() map[string]*libraryv1.ListBooksResponse {
	book := func(i int) *libraryv1.Book {
		return &libraryv1.Book{
			Name:    fmt.Sprintf("shelves/%d/books/%d", i%7, i),
			Title:   "The Strange Case of Dr Jekyll and Mr Hyde",
			Authors: []*libraryv1.Author{{Name: "Robert Louis Stevenson", BirthYear: new(int32(1850)), DeathYear: new(int32(1894))}},
			Genre:   libraryv1.Genre_GENRE_GOTHIC,
			Isbn:    9780141439730,
			Labels:  map[string]string{"language": "en", "setting": "London", "condition": "good"},
			CreateTime: timestamppb.New(
				time.Date(2026, 3, 1+i%28, 12, 30, 0, 5e8, time.UTC)),
		}
	}
	hundred := &libraryv1.ListBooksResponse{NextPageToken: "100"}
	for i := range 100 {
		hundred.Books = append(hundred.Books, book(i))
	}
	return map[string]*libraryv1.ListBooksResponse{
		"one":     {Books: []*libraryv1.Book{book(2)}},
		"hundred": hundred,
	}
}

// BenchmarkCodec converts messages in both directions, directly and by way of
// generated and of dynamic messages.
func BenchmarkCodec(b *testing.B) {
	for name, m := range benchmarkMessages() {
		wire, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		md := m.ProtoReflect().Descriptor()
		codec, err := transcode.New(md, nil, transcode.Options{})
		if err != nil {
			b.Fatal(err)
		}
		fresh := map[string]func() proto.Message{
			"generated": func() proto.Message { return &libraryv1.ListBooksResponse{} },
			"dynamic":   func() proto.Message { return dynamicpb.NewMessage(md) },
		}
		b.Run("request/"+name+"/direct", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				if dst, err = codec.AppendWire(dst[:0], text); err != nil {
					b.Fatal(err)
				}
			}
		})
		for kind, newMessage := range fresh {
			b.Run("request/"+name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					m := newMessage()
					if err := protojson.Unmarshal(text, m); err != nil {
						b.Fatal(err)
					}
					if dst, err = (proto.MarshalOptions{}).MarshalAppend(dst[:0], m); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		for kind, codec := range map[string]*transcode.Codec{"direct": codec, "answers": codec.Writing(transcode.Answers, 1<<20)} {
			b.Run("response/"+name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					if dst, _, err = codec.AppendJSON(dst[:0], wire); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		for kind, newMessage := range fresh {
			b.Run("response/"+name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					m := newMessage()
					if err := proto.Unmarshal(wire, m); err != nil {
						b.Fatal(err)
					}
					if dst, err = (protojson.MarshalOptions{}).MarshalAppend(dst[:0], m); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
