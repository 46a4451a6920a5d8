package ways

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// duplex is one end of a server that runs in this process.
type duplex struct {
	revision string
	out      *io.PipeWriter // to the server
	in       *io.PipeReader // what the client reads
	inject   *io.PipeWriter
	mu       sync.Mutex
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// Dial starts a server over pipes and returns the client's end. A revision is the
// only one that the server seems to know.
func Dial(serve func(ctx context.Context, in io.Reader, out io.Writer) error, revision string) io.ReadWriteCloser {
	ctx, cancel := context.WithCancel(context.Background())
	serverIn, out := io.Pipe()
	fromServer, serverOut := io.Pipe()
	in, inject := io.Pipe()
	d := &duplex{revision: revision, out: out, in: in, inject: inject, cancel: cancel}
	d.wg.Go(func() {
		err := serve(ctx, serverIn, serverOut)
		_ = serverOut.CloseWithError(io.EOF)
		_ = serverIn.CloseWithError(errors.Join(io.ErrClosedPipe, err))
	})
	d.wg.Go(func() {
		r := bufio.NewReader(fromServer)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				_ = inject.CloseWithError(err)
				_ = fromServer.CloseWithError(err)
				return
			}
			d.say(Show(line, revision))
		}
	})
	return d
}

func (d *duplex) say(line []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.inject.Write(line)
}

func (d *duplex) Read(p []byte) (int, error) { return d.in.Read(p) }

var idMember = regexp.MustCompile(`"id":(\d+)`)

// Write hides from the server what its revision does not have.
func (d *duplex) Write(p []byte) (int, error) {
	message, answer := Hide(p, d.revision)
	if answer != nil {
		go d.say(append(answer, '\n'))
		return len(p), nil
	}
	_, err := d.out.Write(message)
	return len(p), err
}

func (d *duplex) Close() error {
	_ = d.out.Close()
	_ = d.in.Close()
	d.cancel()
	d.wg.Wait()
	return nil
}

// Hide returns what a server that serves one revision only gets in place of a
// message of the client, or what it answers, where it would not know the message.
func Hide(p []byte, revision string) (message, answer []byte) {
	unknown := `"server/discover"`
	switch revision {
	case All:
		return p, nil
	case Modern:
		unknown = `"method":"initialize"`
	}
	if bytes.Contains(p, []byte(unknown)) {
		id := idMember.FindSubmatch(p)[1]
		return nil, []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"what?"}}`)
	}
	return asking(p, revision), nil
}

var versions = regexp.MustCompile(`"supportedVersions":\[[^\]]*\]`)

// Show returns what a client gets in place of a message of a server that serves one
// revision only.
func Show(p []byte, revision string) []byte {
	if revision != Modern {
		return p
	}
	return versions.ReplaceAll(p, []byte(`"supportedVersions":["`+Modern+`"]`))
}

var versionMember = regexp.MustCompile(`"protocolVersion":"[0-9-]+"`)

// asking rewrites initialize to ask for another revision.
func asking(p []byte, revision string) []byte {
	if !bytes.Contains(p, []byte(`"method":"initialize"`)) {
		return p
	}
	return versionMember.ReplaceAll(p, []byte(`"protocolVersion":"`+revision+`"`))
}

// OnlyModern hides from clients that a server serves older revisions too.
func OnlyModern(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("Mcp-Protocol-Version") < Modern {
			http.Error(w, "there are no sessions", http.StatusBadRequest)
			return
		}
		if r.Header.Get("Mcp-Method") != protocol.MethodDiscover {
			h.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(Show(answer.Body.Bytes(), Modern)) // the client may have gone
	})
}

// OnlyLegacy hides from a server what its revision does not have.
func OnlyLegacy(h http.Handler, revision string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if bytes.Contains(body, []byte(protocol.MetaProtocolVersion)) || r.Header.Get("Mcp-Protocol-Version") >= Modern {
				http.Error(w, "Bad Request: no session", http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(asking(body, revision)))
			r.ContentLength = int64(len(asking(body, revision)))
		}
		h.ServeHTTP(w, r)
	})
}
