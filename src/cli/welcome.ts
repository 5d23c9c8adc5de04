import type { ListenerAddress } from '../messages.ts';
import type { FanfareServer } from '../server.ts';

type App = FanfareServer['apps'][number];

/** What is printed when the server has started: where it is, and how to talk to it. */
export function welcome(server: FanfareServer): string {
  const created = server.apps.find(({ id }) => id === server.createdApp);
  return [
    ...(created === undefined ? server.apps.flatMap(describeApp) : introduce(created, server)),
    ...(server.apps.length === 0
      ? ['No app is served. Make one: npx fanfare apps create --name NAME', '']
      : []),
    `Channels  ${addressOf(server.channels)}   WebSocket clients and the HTTP API`,
    `Admin     ${addressOf(server.admin)}   /healthz, /readyz, /metrics and /api/v1`,
  ].join('\n');
}

function describeApp(app: App): string[] {
  return [
    `App ${app.id}${app.name === '' ? '' : ` (${app.name})`}${app.enabled ? '' : ', disabled'}`,
    `  key     ${app.keys[0]?.key ?? '(none)'}`,
    `  secret  npx fanfare apps show ${app.id} --secret`,
    '',
  ];
}

function addressOf({ host, port, tls }: ListenerAddress): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The first start: everything that is needed to see an event arrive, to be pasted as it is. */
function introduce(app: App, { channels }: FanfareServer): string[] {
  const { key = '', secret = '' } = app.keys[0] ?? {};
  // A page and a backend on this machine; elsewhere its name goes there.
  const host = ['0.0.0.0', '::', ''].includes(channels.host) ? 'localhost' : channels.host;
  const { port, tls } = channels;
  const ports = tls ? `wssPort: ${port}` : `wsPort: ${port}`;
  return [
    'This is the first start: one app was made and is kept in the store. Its secret is printed only now.',
    '',
    `  app id  ${app.id}`,
    `  key     ${key}`,
    `  secret  ${secret}`,
    '',
    'In a page:',
    '',
    '  <script src="https://js.pusher.com/8.4.0/pusher.min.js"></script>',
    '  <script>',
    `    const pusher = new Pusher('${key}', {`,
    `      wsHost: '${host}', ${ports}, forceTLS: ${tls}, enabledTransports: ['ws', 'wss'], cluster: 'local'`,
    '    });',
    "    pusher.subscribe('my-channel').bind('my-event', (data) => alert(JSON.stringify(data)));",
    '  </script>',
    '',
    'In a backend (npm install pusher):',
    '',
    "  const Pusher = require('pusher');",
    '  const pusher = new Pusher({',
    `    appId: '${app.id}', key: '${key}', secret: '${secret}',`,
    `    host: '${host}', port: '${port}', useTLS: ${tls}`,
    '  });',
    "  pusher.trigger('my-channel', 'my-event', { message: 'hello' });",
    '',
  ];
}
