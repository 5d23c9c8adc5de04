// Checks the library of Pusher Channels for Go against a running server. The argument is JSON of ../scene.ts.
package main

import (
	"encoding/json"
	"os"
)

func main() {
	must(json.Unmarshal([]byte(os.Args[1]), &told))
	checkChannels()
}
