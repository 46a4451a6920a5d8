package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/internal/watched"
)

const (
	// keysFresh is how long keys serve before they are fetched again, and
	// keysStale how long they serve where that fails.
	keysFresh = 15 * time.Minute
	keysStale = 24 * time.Hour
	// minFetchPause and maxFetchPause bound how often keys are fetched: tokens
	// with made-up key ids, and servers that are down, cause no more.
	minFetchPause = 5 * time.Second
	maxFetchPause = 5 * time.Minute
	maxKeys       = 256
	minRSABits    = 2048
)

// errNoKeys is the error where an issuer's keys could not be had.
var errNoKeys = errors.New("the keys of the issuer cannot be had at present")

// keys are the public keys of an issuer.
type keys interface {
	// find returns the keys that a token may be signed with: those of a key id,
	// or all where the id is empty. None is no error.
	find(ctx context.Context, id string) ([]jose.JSONWebKey, error)
}

// readKeySet reads a JSON Web Key Set (RFC 7517). Keys that verify no signature of
// ours do not count: others may be in it, and of other kinds.
func readKeySet(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := decode(text, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("the key set has %d keys, more than %d", len(set.Keys), maxKeys)
	}
	var usable []jose.JSONWebKey
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && verifies(k) {
			usable = append(usable, k)
		}
	}
	if len(usable) == 0 {
		return nil, errors.New("the key set has no public key of RSA (2048 bits or more), ECDSA or Ed25519 for signatures")
	}
	return usable, nil
}

func verifies(k jose.JSONWebKey) bool {
	if k.Use != "" && k.Use != "sig" || !k.Valid() || !k.IsPublic() {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}

func withID(all []jose.JSONWebKey, id string) []jose.JSONWebKey {
	if id == "" {
		return all
	}
	var found []jose.JSONWebKey
	for _, k := range all {
		if k.KeyID == id {
			found = append(found, k)
		}
	}
	return found
}

// fileKeys are the keys of a file, which is read again when it changes.
type fileKeys struct {
	set *watched.Value[[]jose.JSONWebKey]
}

func newFileKeys(name string) (*fileKeys, error) {
	set, err := watched.New(func(names []string) ([]jose.JSONWebKey, error) {
		text, err := os.ReadFile(names[0])
		if err != nil {
			return nil, err
		}
		set, err := readKeySet(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[0], err)
		}
		return set, nil
	}, name)
	return &fileKeys{set}, err
}

func (f *fileKeys) find(_ context.Context, id string) ([]jose.JSONWebKey, error) {
	return withID(f.set.Get(), id), nil
}

// remoteKeys are the keys that a server has. They are fetched when they are needed,
// by one request at a time, and kept while the server is down.
type remoteKeys struct {
	owner  *Authenticator
	client *http.Client
	log    *slog.Logger
	issuer string
	url    string // or "": discover it

	mu      sync.Mutex
	set     []jose.JSONWebKey
	fetched time.Time // when set was
	next    time.Time // not before then
	back    backoff.Backoff
	flight  chan struct{} // closed when the fetch under way has ended; nil without one
}

func (k *remoteKeys) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	now := time.Now()
	k.mu.Lock()
	found := k.current(id, now)
	if (len(found) == 0 || now.Sub(k.fetched) > keysFresh) && k.flight == nil && !now.Before(k.next) && k.owner.start(k.fetch) {
		k.flight = make(chan struct{}) // which fetch finds, as it waits for mu
	}
	flight := k.flight
	k.mu.Unlock()
	if len(found) > 0 {
		return found, nil // others are fetched meanwhile
	}
	if flight != nil {
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current("", time.Now()) == nil {
		return nil, errNoKeys
	}
	return k.current(id, time.Now()), nil
}

// current returns the keys of an id that may still serve. The caller holds mu.
func (k *remoteKeys) current(id string, now time.Time) []jose.JSONWebKey {
	if now.Sub(k.fetched) > keysStale {
		return nil
	}
	return withID(k.set, id)
}

// fetch fetches the keys.
func (k *remoteKeys) fetch() {
	ctx, cancel := context.WithTimeout(k.owner.ctx, fetchTimeout)
	defer cancel()
	set, err := k.get(ctx)
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if k.owner.ctx.Err() == nil {
			k.log.Warn("the keys of an issuer cannot be fetched", "issuer", k.issuer, "error", err)
		}
		k.next = now.Add(k.back.After(0))
	} else {
		k.set, k.fetched, k.next = set, now, now.Add(minFetchPause)
		k.back = newBackoff()
	}
	close(k.flight)
	k.flight = nil
}

func newBackoff() backoff.Backoff { return backoff.Backoff{Min: minFetchPause, Max: maxFetchPause} }

func (k *remoteKeys) get(ctx context.Context) ([]jose.JSONWebKey, error) {
	from := k.url
	if from == "" {
		var err error
		if from, err = discover(ctx, k.client, k.issuer); err != nil {
			return nil, err
		}
	}
	var text json.RawMessage
	if err := fetch(ctx, k.client, from, &text); err != nil {
		return nil, err
	}
	set, err := readKeySet(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return set, nil
}
