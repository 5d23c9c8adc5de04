/** What the snippets are filled with. */
export interface SnippetFacts {
  readonly appId: string;
  readonly key: string;
  /** A placeholder until somebody asks for the secret. */
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
  'pusher-js': ({
    key,
    host,
    port,
    tls,
    channel,
    event,
  }) => `<script src="https://js.pusher.com/8.4.0/pusher.min.js"></script>
<script>
  const pusher = new Pusher('${key}', {
    wsHost: '${host}', ${tls ? 'wssPort' : 'wsPort'}: ${port}, forceTLS: ${tls},
    enabledTransports: ['ws', 'wss'], cluster: 'local',
  });
  pusher.subscribe('${channel}').bind('${event}', (data) => console.log(data));
</script>`,
  'Laravel Echo': ({ key, host, port, tls, channel, event }) => `import Echo from 'laravel-echo';
import Pusher from 'pusher-js';

window.Pusher = Pusher;
const echo = new Echo({
  broadcaster: 'reverb', key: '${key}',
  wsHost: '${host}', ${tls ? 'wssPort' : 'wsPort'}: ${port}, forceTLS: ${tls},
  enabledTransports: ['ws', 'wss'],
});
// The dot before the name keeps Echo from adding a namespace.
echo.channel('${channel}').listen('.${event}', (data) => console.log(data));`,
  Swift: ({ key, host, port, tls, channel, event }) => `let options = PusherClientOptions(
  host: .host("${host}"), port: ${port}, useTLS: ${tls})
let pusher = Pusher(key: "${key}", options: options)
let channel = pusher.subscribe("${channel}")
channel.bind(eventName: "${event}") { (event: PusherEvent) in
  print(event.data ?? "")
}
pusher.connect()`,
  Kotlin: ({ key, host, port, tls, channel, event }) => `val options = PusherOptions()
  .setHost("${host}").${tls ? 'setWssPort' : 'setWsPort'}(${port}).setUseTLS(${tls})
val pusher = Pusher("${key}", options)
pusher.connect()
pusher.subscribe("${channel}").bind("${event}") { println(it.data) }`,
  Flutter: ({
    key,
    host,
    port,
    tls,
    channel,
    event,
  }) => `// dart_pusher_channels: the official package has no option for a host.
final client = PusherChannelsClient.websocket(
  options: PusherChannelsOptions.fromHost(
    scheme: '${tls ? 'wss' : 'ws'}', host: '${host}', port: ${port}, key: '${key}'),
  connectionErrorHandler: (exception, trace, refresh) => refresh(),
);
final channel = client.publicChannel('${channel}');
client.onConnectionEstablished.listen((_) => channel.subscribe());
channel.bind('${event}').listen((event) => print(event.data));
await client.connect();`,
} satisfies Snippets;

/** Code that sends an event, by language. */
export const backendSnippets = {
  Node: ({
    appId,
    key,
    secret,
    host,
    port,
    tls,
    channel,
    event,
  }) => `const Pusher = require('pusher'); // npm install pusher
const pusher = new Pusher({
  appId: '${appId}', key: '${key}', secret: '${secret}',
  host: '${host}', port: '${port}', useTLS: ${tls},
});
pusher.trigger('${channel}', '${event}', { message: 'hello' });`,
  PHP: ({
    appId,
    key,
    secret,
    host,
    port,
    tls,
    channel,
    event,
  }) => `// composer require pusher/pusher-php-server
$pusher = new Pusher\\Pusher('${key}', '${secret}', '${appId}', [
  'host' => '${host}', 'port' => ${port}, 'scheme' => '${tls ? 'https' : 'http'}',
]);
$pusher->trigger('${channel}', '${event}', ['message' => 'hello']);`,
  Python: ({ appId, key, secret, host, port, tls, channel, event }) => `# pip install pusher
import pusher

client = pusher.Pusher(
  app_id='${appId}', key='${key}', secret='${secret}',
  host='${host}', port=${port}, ssl=${tls ? 'True' : 'False'},
)
client.trigger('${channel}', '${event}', {'message': 'hello'})`,
  Ruby: ({
    appId,
    key,
    secret,
    host,
    port,
    tls,
    channel,
    event,
  }) => `require 'pusher' # gem install pusher

client = Pusher::Client.new(
  app_id: '${appId}', key: '${key}', secret: '${secret}',
  host: '${host}', port: ${port}, scheme: '${tls ? 'https' : 'http'}',
)
client.trigger('${channel}', '${event}', { message: 'hello' })`,
  Go: ({
    appId,
    key,
    secret,
    host,
    port,
    tls,
    channel,
    event,
  }) => `// go get github.com/pusher/pusher-http-go/v5
client := pusher.Client{
  AppID: "${appId}", Key: "${key}", Secret: "${secret}",
  Host: "${host}:${port}", Secure: ${tls},
}
client.Trigger("${channel}", "${event}", map[string]string{"message": "hello"})`,
  curl: ({
    appId,
    key,
    secret,
    host,
    port,
    tls,
    channel,
    event,
  }) => `BODY='{"name":"${event}","channels":["${channel}"],"data":"{\\"message\\":\\"hello\\"}"}'
MD5=$(printf %s "$BODY" | openssl md5 -r | cut -d' ' -f1)
QUERY="auth_key=${key}&auth_timestamp=$(date +%s)&auth_version=1.0&body_md5=$MD5"
SIGNED=$(printf 'POST\\n/apps/${appId}/events\\n%s' "$QUERY" | openssl dgst -sha256 -hmac '${secret}' -r | cut -d' ' -f1)
curl -H 'Content-Type: application/json' -d "$BODY" \\
  "${tls ? 'https' : 'http'}://${host}:${port}/apps/${appId}/events?$QUERY&auth_signature=$SIGNED"`,
} satisfies Snippets;
