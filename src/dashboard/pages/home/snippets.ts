/** What the snippets are filled with. */
export interface SnippetFacts {
  readonly appId: string;
  readonly key: string;
  /** A placeholder until the user asks for the secret. */
  readonly secret: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly channel: string;
  readonly event: string;
}

type Snippets = Readonly<Record<string, (facts: SnippetFacts) => string>>;

/** Code that subscribes, by library. */
export const clientSnippets = {
  'pusher-js': (of) => `<script src="https://js.pusher.com/8.4.0/pusher.min.js"></script>
<script>
  const pusher = new Pusher('${of.key}', {
    wsHost: '${of.host}', ${of.tls ? 'wssPort' : 'wsPort'}: ${of.port}, forceTLS: ${of.tls},
    enabledTransports: ['ws', 'wss'], cluster: 'local',
  });
  pusher.subscribe('${of.channel}').bind('${of.event}', (data) => console.log(data));
</script>`,
  'Laravel Echo': (of) => `import Echo from 'laravel-echo';
import Pusher from 'pusher-js';

window.Pusher = Pusher;
const echo = new Echo({
  broadcaster: 'reverb', key: '${of.key}',
  wsHost: '${of.host}', ${of.tls ? 'wssPort' : 'wsPort'}: ${of.port}, forceTLS: ${of.tls},
  enabledTransports: ['ws', 'wss'],
});
// The dot before the name keeps Echo from adding a namespace.
echo.channel('${of.channel}').listen('.${of.event}', (data) => console.log(data));`,
  Swift: (of) => `let options = PusherClientOptions(
  host: .host("${of.host}"), port: ${of.port}, useTLS: ${of.tls})
let pusher = Pusher(key: "${of.key}", options: options)
let channel = pusher.subscribe("${of.channel}")
channel.bind(eventName: "${of.event}") { (event: PusherEvent) in
  print(event.data ?? "")
}
pusher.connect()`,
  Kotlin: (of) => `val options = PusherOptions()
  .setHost("${of.host}").${of.tls ? 'setWssPort' : 'setWsPort'}(${of.port}).setUseTLS(${of.tls})
val pusher = Pusher("${of.key}", options)
pusher.connect()
pusher.subscribe("${of.channel}").bind("${of.event}") { println(it.data) }`,
  Flutter: (of) => `// dart_pusher_channels: the official package has no option for a host.
final client = PusherChannelsClient.websocket(
  options: PusherChannelsOptions.fromHost(
    scheme: '${of.tls ? 'wss' : 'ws'}', host: '${of.host}', port: ${of.port}, key: '${of.key}'),
  connectionErrorHandler: (exception, trace, refresh) => refresh(),
);
final channel = client.publicChannel('${of.channel}');
client.onConnectionEstablished.listen((_) => channel.subscribe());
channel.bind('${of.event}').listen((event) => print(event.data));
await client.connect();`,
} satisfies Snippets;

/** Code that sends an event, by language. */
export const backendSnippets = {
  Node: (of) => `const Pusher = require('pusher'); // npm install pusher
const pusher = new Pusher({
  appId: '${of.appId}', key: '${of.key}', secret: '${of.secret}',
  host: '${of.host}', port: '${of.port}', useTLS: ${of.tls},
});
pusher.trigger('${of.channel}', '${of.event}', { message: 'hello' });`,
  PHP: (of) => `// composer require pusher/pusher-php-server
$pusher = new Pusher\\Pusher('${of.key}', '${of.secret}', '${of.appId}', [
  'host' => '${of.host}', 'port' => ${of.port}, 'scheme' => '${of.tls ? 'https' : 'http'}',
]);
$pusher->trigger('${of.channel}', '${of.event}', ['message' => 'hello']);`,
  Python: (of) => `# pip install pusher
import pusher

client = pusher.Pusher(
  app_id='${of.appId}', key='${of.key}', secret='${of.secret}',
  host='${of.host}', port=${of.port}, ssl=${of.tls ? 'True' : 'False'},
)
client.trigger('${of.channel}', '${of.event}', {'message': 'hello'})`,
  Ruby: (of) => `require 'pusher' # gem install pusher

client = Pusher::Client.new(
  app_id: '${of.appId}', key: '${of.key}', secret: '${of.secret}',
  host: '${of.host}', port: ${of.port}, scheme: '${of.tls ? 'https' : 'http'}',
)
client.trigger('${of.channel}', '${of.event}', { message: 'hello' })`,
  Go: (of) => `// go get github.com/pusher/pusher-http-go/v5
client := pusher.Client{
  AppID: "${of.appId}", Key: "${of.key}", Secret: "${of.secret}",
  Host: "${of.host}:${of.port}", Secure: ${of.tls},
}
client.Trigger("${of.channel}", "${of.event}", map[string]string{"message": "hello"})`,
  curl: (
    of,
  ) => `BODY='{"name":"${of.event}","channels":["${of.channel}"],"data":"{\\"message\\":\\"hello\\"}"}'
MD5=$(printf %s "$BODY" | openssl md5 -r | cut -d' ' -f1)
QUERY="auth_key=${of.key}&auth_timestamp=$(date +%s)&auth_version=1.0&body_md5=$MD5"
SIGNED=$(printf 'POST\\n/apps/${of.appId}/events\\n%s' "$QUERY" | openssl dgst -sha256 -hmac '${of.secret}' -r | cut -d' ' -f1)
curl -H 'Content-Type: application/json' -d "$BODY" \\
  "${of.tls ? 'https' : 'http'}://${of.host}:${of.port}/apps/${of.appId}/events?$QUERY&auth_signature=$SIGNED"`,
} satisfies Snippets;
