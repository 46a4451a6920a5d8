package backend

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// httpBodyName is the message that stands for any content at all.
const httpBodyName = "google.api.HttpBody"

// Numbers of its fields.
const (
	httpBodyContentType = 1
	httpBodyData        = 2
)

// HTTPBody reports whether the method returns a google.api.HttpBody. Its
// result is a content block, and has no structured content.
func (p *Plan) HTTPBody() bool { return p.httpBody }

// httpBody is the content of one or more google.api.HttpBody messages.
type httpBody struct {
	contentType string
	data        []byte
}

// add appends the content of a message. The first content type counts, as it
// does where such a stream goes over HTTP. It reports true, and takes nothing,
// where there are more than limit bytes and some are there already; a limit of
// 0 is none.
func (b *httpBody) add(wire []byte, limit int) (full bool, err error) {
	var data []byte
	contentType := ""
	for len(wire) > 0 {
		num, typ, n := protowire.ConsumeTag(wire)
		if n < 0 {
			return false, fmt.Errorf("the message is no valid %s: %w", httpBodyName, protowire.ParseError(n))
		}
		wire = wire[n:]
		if typ == protowire.BytesType && (num == httpBodyContentType || num == httpBodyData) {
			var v []byte
			if v, n = protowire.ConsumeBytes(wire); n >= 0 && num == httpBodyData {
				data = v
			} else if n >= 0 {
				contentType = string(v)
			}
		} else {
			n = protowire.ConsumeFieldValue(num, typ, wire)
		}
		if n < 0 {
			return false, fmt.Errorf("the message is no valid %s: %w", httpBodyName, protowire.ParseError(n))
		}
		wire = wire[n:]
	}
	if limit > 0 && len(b.data) > 0 && len(b.data)+len(data) > limit {
		return true, nil
	}
	if b.contentType == "" {
		b.contentType = strings.ToValidUTF8(contentType, "\uFFFD")
	}
	b.data = append(b.data, data...)
	return false, nil
}

// append appends a content block: text, an image, audio, or else an embedded
// resource (server/tools, Tool Result). Revision 2024-11-05 has no audio.
func (b *httpBody) append(dst []byte, uri string, rev protocol.Revision) []byte {
	media, text := mediaOf(b.contentType, b.data)
	kind, _, _ := strings.Cut(media, "/")
	encoded := func() []byte { return base64.StdEncoding.AppendEncode(nil, b.data) }
	switch {
	case text:
		dst = append(dst, `{"type":"text","text":`...)
		return append(jsontok.AppendString(dst, string(b.data)), '}')
	case kind == "image", kind == "audio" && rev > protocol.Revision20241105:
		dst = append(dst, `{"type":`...)
		dst = jsontok.AppendString(dst, kind)
		dst = append(dst, `,"data":"`...)
		dst = append(dst, encoded()...)
		dst = append(dst, `","mimeType":`...)
		return append(jsontok.AppendString(dst, media), '}')
	default:
		if media == "" {
			media = "application/octet-stream"
		}
		dst = append(dst, `{"type":"resource","resource":{"uri":`...)
		dst = jsontok.AppendString(dst, uri)
		dst = append(dst, `,"mimeType":`...)
		dst = jsontok.AppendString(dst, media)
		dst = append(dst, `,"blob":"`...)
		dst = append(dst, encoded()...)
		return append(dst, `"}}`...)
	}
}

// IsText reports whether data of a content type is text that JSON can hold.
func IsText(contentType string, data []byte) bool {
	_, text := mediaOf(contentType, data)
	return text
}

// mediaOf returns the media type without parameters, and whether data of the
// content type is text that JSON can hold.
func mediaOf(contentType string, data []byte) (media string, text bool) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media, params = strings.ToLower(strings.TrimSpace(media)), nil
	}
	charset := strings.ToLower(params["charset"])
	return media, (charset == "" || charset == "utf-8" || charset == "us-ascii") && utf8.Valid(data) && (media == "" || textual(media))
}

// textual reports whether content of the type is text.
func textual(media string) bool {
	if strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml") {
		return true
	}
	switch media {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript",
		"application/x-www-form-urlencoded", "application/x-ndjson", "application/jsonl", "application/toml",
		"application/sql", "application/graphql":
		return true
	}
	return false
}

// bodyResult makes a CallToolResult of one google.api.HttpBody.
func (p *Plan) bodyResult(c *compiled, message []byte, trailer *rpc.Trailer, r *protocol.Request) (*protocol.Result, error) {
	var b httpBody
	if _, err := b.add(message, 0); err != nil {
		return nil, err
	}
	return p.contentResult(c, &b, p.settings.MaxResult, "", trailer, r), nil
}

// bodiesResult makes a CallToolResult of a stream of them, which are the parts
// of one content. It says so where parts are missing.
func (p *Plan) bodiesResult(of *compiled, c *collector, trailer *rpc.Trailer, r *protocol.Request) *protocol.Result {
	note := ""
	if c.stop != stopEOF {
		note = fmt.Sprintf("This is the beginning of the content, %d bytes: the stream was ended early (%s).", len(c.body.data), c.stop)
	}
	return p.contentResult(of, &c.body, c.first, note, trailer, r)
}

// contentResult makes a result of a content, which has at most the given number of
// bytes if it is text.
func (p *Plan) contentResult(c *compiled, b *httpBody, most int, note string, trailer *rpc.Trailer, r *protocol.Request) *protocol.Result {
	if !IsText(b.contentType, b.data) {
		most = p.settings.MaxContent
	}
	if most > 0 && len(b.data) > most {
		return status.TooLarge(most, narrowing(c.method.Input()))
	}
	body := b.append([]byte(`{"content":[`), "grpc://"+p.procedure, r.Meta.Revision)
	if note != "" {
		body = append(body, `,{"type":"text","text":`...)
		body = append(jsontok.AppendString(body, note), '}')
	}
	return &protocol.Result{Body: json.RawMessage(append(body, `]}`...)), Meta: p.meta(trailer, nil)}
}
