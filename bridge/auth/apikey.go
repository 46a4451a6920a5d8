package auth

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// keyTTL is how long an API key counts after it was taken out of its file.
const keyTTL = 5 * time.Second

// apiKeys are the keys of a file.
type apiKeys []apiKey

type apiKey struct {
	hash      [sha256.Size]byte
	principal *protocol.Principal
}

// find returns whose key a token is, or nil. It takes as long for each.
func (k apiKeys) find(token string) *protocol.Principal {
	hash := digest(token)
	var found *protocol.Principal
	for i := range k {
		if subtle.ConstantTimeCompare(k[i].hash[:], hash[:]) == 1 {
			found = k[i].principal
		}
	}
	return found
}

// readAPIKeys reads a file of API keys. The error has every fault, and no key.
func readAPIKeys(names []string) (apiKeys, error) {
	text, err := os.ReadFile(names[0])
	if err != nil {
		return nil, fmt.Errorf("API keys: %w", err)
	}
	return parseAPIKeys(names[0], text)
}

func parseAPIKeys(file string, text []byte) (apiKeys, error) {
	var (
		keys   apiKeys
		faults []error
		lines  = make(map[string]int) // by name and by hash
	)
	scanner := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := parseAPIKey(line)
		if err != nil {
			faults = append(faults, fmt.Errorf("API keys: %s:%d: %w", file, n, err))
			continue
		}
		for _, same := range []struct{ what, text string }{{"name", key.principal.Subject}, {"key", string(key.hash[:])}} {
			if first := lines[same.what+same.text]; first > 0 {
				faults = append(faults, fmt.Errorf("API keys: %s:%d: the %s is that of line %d", file, n, same.what, first))
			}
			lines[same.what+same.text] = n
		}
		keys = append(keys, key)
	}
	if err := scanner.Err(); err != nil {
		faults = append(faults, fmt.Errorf("API keys: %s: %w", file, err))
	}
	if len(keys) == 0 && len(faults) == 0 {
		faults = append(faults, fmt.Errorf("API keys: %s has no key; a line is NAME:sha256:HEX", file))
	}
	return keys, errors.Join(faults...)
}

func parseAPIKey(line string) (apiKey, error) {
	const forms = 4
	parts := strings.SplitN(line, ":", forms)
	if len(parts) < forms-1 || parts[0] == "" || parts[1] != "sha256" {
		return apiKey{}, errors.New("a line must be NAME:sha256:HEX or NAME:sha256:HEX:SCOPE,SCOPE")
	}
	var k apiKey
	sum, err := hex.DecodeString(strings.ToLower(parts[2]))
	if err != nil || len(sum) != len(k.hash) {
		return apiKey{}, fmt.Errorf("what stands after sha256: is not the %d hexadecimal digits of a SHA-256", hex.EncodedLen(len(k.hash)))
	}
	copy(k.hash[:], sum)
	var scopes []string
	if len(parts) == forms {
		for scope := range strings.SplitSeq(parts[3], ",") {
			if scope = strings.TrimSpace(scope); scope == "" || strings.ContainsAny(scope, " \"\\") {
				return apiKey{}, fmt.Errorf("%q is no scope", clip.Name(scope))
			}
			scopes = append(scopes, scope)
		}
	}
	k.principal = protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthAPIKey, Subject: parts[0], Scopes: scopes})
	return k, nil
}
