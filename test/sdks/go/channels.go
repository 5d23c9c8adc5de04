package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/pusher/pusher-http-go/v5"
)

const library = "pusher-http-go"

// payload has what must be escaped in JSON, in HTML and in queries.
var payload = map[string]any{"text": "Zoë's <b>☃</b> 1+1=2 & more"}

func newBackend() *pusher.Client {
	return &pusher.Client{
		AppID:                     told.App.ID,
		Key:                       told.App.Key,
		Secret:                    told.App.Secret,
		Host:                      fmt.Sprintf("127.0.0.1:%d", told.Port),
		EncryptionMasterKeyBase64: told.EncryptionMasterKeyBase64,
	}
}

func connect() string {
	return text(ask("connect", nil)["socketId"])
}

// subscribed is the socket id of a client that is subscribed to a public channel.
func subscribed(channel string) string {
	socketID := connect()
	ask("subscribe", given{"socketId": socketID, "channel": channel})
	return socketID
}

// form is what a client sends to be authorised.
func form(socketID, channel string) []byte {
	return []byte(url.Values{"socket_id": {socketID}, "channel_name": {channel}}.Encode())
}

func private(backend *pusher.Client, channel string) string {
	socketID := connect()
	auth, err := backend.AuthorizePrivateChannel(form(socketID, channel))
	must(err)
	ask("subscribe", given{"socketId": socketID, "channel": channel, "auth": string(auth)})
	return socketID
}

// presence joins as a user, and returns what pusher-js knows of the channel.
func presence(backend *pusher.Client, channel, user string) map[string]any {
	socketID := connect()
	member := pusher.MemberData{UserID: user, UserInfo: map[string]string{"name": text(payload["text"])}}
	auth, err := backend.AuthorizePresenceChannel(form(socketID, channel), member)
	must(err)
	answer := ask("subscribe", given{"socketId": socketID, "channel": channel, "auth": string(auth)})
	return answer["data"].(map[string]any)
}

func signedIn(backend *pusher.Client, user string) string {
	socketID := connect()
	auth, err := backend.AuthenticateUser(form(socketID, ""), map[string]any{"id": user})
	must(err)
	ask("signIn", given{"socketId": socketID, "auth": string(auth)})
	return socketID
}

func nextEvent(socketID, channel string) map[string]any {
	return ask("event", given{"socketId": socketID, "channel": channel})
}

func event(name string, data any) map[string]any {
	return map[string]any{"event": name, "data": data}
}

func checkChannels() {
	backend := newBackend()
	userCount := "user_count"

	check(library, "Trigger", func() {
		ann := subscribed("go-one")
		must(backend.Trigger("go-one", "paid", payload))
		same(nextEvent(ann, "go-one"), event("paid", payload))
	})

	check(library, "TriggerMultiWithParams, without the sender, and TriggerMulti", func() {
		ann, bob := subscribed("go-many"), subscribed("go-many")
		channels := []string{"go-many", "go-others"}
		_, err := backend.TriggerMultiWithParams(channels, "first", "text", pusher.TriggerParams{SocketID: &ann})
		must(err)
		must(backend.TriggerMulti(channels, "second", []int{1, 2}))
		same(nextEvent(bob, "go-many"), event("first", "text"))
		same(nextEvent(ann, "go-many"), event("second", []int{1, 2}))
	})

	check(library, "TriggerWithParams with info", func() {
		presence(backend, "presence-go-info", "ann")
		found, err := backend.TriggerWithParams("presence-go-info", "note", 1, pusher.TriggerParams{Info: &userCount})
		must(err)
		same(*found.Channels["presence-go-info"].UserCount, 1)
	})

	check(library, "TriggerBatch, with info", func() {
		ann := subscribed("go-batch")
		presence(backend, "presence-go-batch", "ann")
		found, err := backend.TriggerBatch([]pusher.Event{
			{Channel: "go-batch", Name: "one", Data: payload},
			{Channel: "presence-go-batch", Name: "two", Data: payload, Info: &userCount},
		})
		must(err)
		same(nextEvent(ann, "go-batch"), event("one", payload))
		same(*found.Batch[1].UserCount, 1)
	})

	check(library, "Trigger and TriggerBatch to an encrypted channel, AuthorizePrivateChannel for it", func() {
		channel := "private-encrypted-go"
		ann := private(backend, channel)
		must(backend.Trigger(channel, "secret", payload))
		_, err := backend.TriggerBatch([]pusher.Event{{Channel: channel, Name: "batched", Data: payload}})
		must(err)
		same(nextEvent(ann, channel), event("secret", payload))
		same(nextEvent(ann, channel), event("batched", payload))
	})

	check(library, "AuthorizePrivateChannel", func() {
		ann := private(backend, "private-go")
		must(backend.Trigger("private-go", "note", 1))
		same(nextEvent(ann, "private-go"), event("note", 1))
	})

	check(library, "AuthorizePresenceChannel", func() {
		found := presence(backend, "presence-go-signed", "zoë 7")
		same(found["myID"], "zoë 7")
		same(found["me"].(map[string]any)["info"], map[string]any{"name": payload["text"]})
	})

	check(library, "Channels", func() {
		presence(backend, "presence-go-listed", "ann")
		prefix := "presence-go-listed"
		found, err := backend.Channels(pusher.ChannelsParams{FilterByPrefix: &prefix, Info: &userCount})
		must(err)
		same(found.Channels, map[string]any{prefix: map[string]int{"user_count": 1}})
	})

	check(library, "Channel", func() {
		presence(backend, "presence-go-described", "ann")
		found, err := backend.Channel("presence-go-described", pusher.ChannelParams{Info: &userCount})
		must(err)
		same([]any{found.Occupied, found.UserCount}, []any{true, 1})
		empty, err := backend.Channel("go-empty", pusher.ChannelParams{})
		must(err)
		same(empty.Occupied, false)
	})

	check(library, "GetChannelUsers", func() {
		presence(backend, "presence-go-users", "zoë 7")
		found, err := backend.GetChannelUsers("presence-go-users")
		must(err)
		same(found.List[0].ID, "zoë 7")
	})

	check(library, "AuthenticateUser and SendToUser", func() {
		ann := signedIn(backend, "go-ann")
		must(backend.SendToUser("go-ann", "note", payload))
		same(ask("userEvent", given{"socketId": ann}), event("note", payload))
	})

	check(library, "Webhook", func() {
		subscribed("go-webhook")
		request := ask("webhook", given{"event": "channel_occupied", "channel": "go-webhook"})
		header := http.Header{}
		for name, value := range request["headers"].(map[string]any) {
			header.Set(name, text(value))
		}
		body := text(request["body"])
		found, err := backend.Webhook(header, []byte(body))
		must(err)
		occupied := false
		for _, one := range found.Events {
			occupied = occupied || one.Name == "channel_occupied" && one.Channel == "go-webhook"
		}
		same(occupied, true)
		if _, err := backend.Webhook(header, []byte(strings.Replace(body, "go-", "py-", 1))); err == nil {
			panic("a changed body is valid")
		}
		header.Set("X-Pusher-Signature", strings.Repeat("0", 64))
		if _, err := backend.Webhook(header, []byte(body)); err == nil {
			panic("a forged signature is valid")
		}
	})

	check(library, "Trigger and Channels over TLS", func() {
		authority, err := os.ReadFile(told.CAFile)
		must(err)
		roots := x509.NewCertPool()
		same(roots.AppendCertsFromPEM(authority), true)
		secure := newBackend()
		secure.Host = fmt.Sprintf("localhost:%d", told.TLSPort)
		secure.Secure = true
		secure.HTTPClient = &http.Client{
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		}
		must(secure.Trigger("go-tls", "note", payload))
		found, err := secure.Channels(pusher.ChannelsParams{})
		must(err)
		same(len(found.Channels), 0)
	})

	check(library, "errors for what the server refuses", func() {
		wrong := newBackend()
		wrong.Secret = "wrong"
		err := wrong.Trigger("a", "b", 1)
		same(strings.HasPrefix(fmt.Sprint(err), "Status Code: 401 - "), true)
		_, err = backend.GetChannelUsers("go-no-presence")
		same(strings.HasPrefix(fmt.Sprint(err), "Status Code: 400 - "), true)
	})
}
