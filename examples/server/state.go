package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// seal signs the state of a call, which goes to the client and comes back with
// its answers. The signature holds for calls of the same tool only. Several
// replicas of a server would share the key, and add a time at which the state
// expires.
func (s *server) seal(tool, state string) *string {
	sealed := s.sign(tool, state) + "." + state
	return &sealed
}

// open returns the state that was sealed. It fails where somebody has changed it.
func (s *server) open(tool, sealed string) (string, error) {
	signature, state, ok := strings.Cut(sealed, ".")
	if !ok || !hmac.Equal([]byte(signature), []byte(s.sign(tool, state))) {
		return "", invalid("requestState is not what the server has sent")
	}
	return state, nil
}

func (s *server) sign(tool, state string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(tool))
	mac.Write([]byte{0})
	mac.Write([]byte(state))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
