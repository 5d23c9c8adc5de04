package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
)

// told is what the runner says: JSON of ../scene.ts.
var told struct {
	App                       struct{ ID, Key, Secret string }
	Port                      int
	TLSPort                   int
	CAFile                    string
	EncryptionMasterKeyBase64 string
	AsksURL                   string `json:"asksUrl"`
}

// given are the values that a question has.
type given map[string]string

// ask asks the runner for what a library cannot do or see.
func ask(question string, values given) map[string]any {
	body := given{"ask": question}
	for name, value := range values {
		body[name] = value
	}
	text, err := json.Marshal(body)
	must(err)
	response, err := http.Post(told.AsksURL, "application/json", bytes.NewReader(text))
	must(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(err)
	if response.StatusCode != 200 {
		panic(string(answer))
	}
	var values_ map[string]any
	must(json.Unmarshal(answer, &values_))
	return values_
}

func text(value any) string {
	found, _ := value.(string)
	return found
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// same fails unless two values are the same JSON.
func same(actual, expected any) {
	if !reflect.DeepEqual(asJSON(actual), asJSON(expected)) {
		panic(fmt.Sprintf("%#v instead of %#v", actual, expected))
	}
}

func asJSON(value any) any {
	text, err := json.Marshal(value)
	must(err)
	var plain any
	must(json.Unmarshal(text, &plain))
	return plain
}

// check makes one check and prints its result.
func check(library, name string, action func()) {
	failure := ""
	func() {
		defer func() {
			if problem := recover(); problem != nil {
				failure = fmt.Sprint(problem)
			}
		}()
		action()
	}()
	must(json.NewEncoder(os.Stdout).Encode(map[string]string{
		"library": library, "check": name, "error": failure,
	}))
}
