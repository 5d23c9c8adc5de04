import { ownCommand } from '../../config/environment/own-command.ts';
import type { ListenerAddress } from '../../node/link/messages.ts';
import { socketPath, urlHost } from '../../runtime/listen-host.ts';
import { PROXY_HOST, urlOf } from '../own-address.ts';

/** An app, as far as its first steps need it. */
export interface FirstApp {
  readonly id: string;
  readonly keys: readonly { readonly key: string; readonly secret: string }[];
}

/** An instance, as far as its first steps need it. */
export interface FirstInstance {
  readonly id: string;
  /** The oldest first. */
  readonly secretKeys: readonly string[];
  readonly web: { readonly vapidPublicKey: string } | undefined;
}

/** A command of this program that uses the configuration file of the server. `file`: what `--config` named. */
export function commandHere(words: string, file: string | undefined): string {
  if (file === undefined) return `${ownCommand()} ${words}`;
  const quoted = /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
  return `${ownCommand()} ${words} --config ${quoted}`;
}

/** The words of the command that shows the secret of an app. */
export function appSecretWords(id: string): string {
  return `apps show ${id} --secret`;
}

/** The words of the command that shows the secret key of an instance. */
export function instanceSecretWords(id: string): string {
  return `instances show ${id} --secret`;
}

interface StepsOptions {
  /** Whether a person reads the output. */
  readonly isSeen: boolean;
  /** What `--config` named. */
  readonly configFile: string | undefined;
}

/** Code to paste into a page and a backend to see a first event arrive. */
export function appSteps(
  app: FirstApp,
  { channels, isSeen, configFile }: StepsOptions & { readonly channels: ListenerAddress },
): string[] {
  const { key = '', secret: found = '' } = app.keys[0] ?? {};
  const secret = isSeen ? found : 'SECRET';
  const { host: name, port, tls } = fromHere(channels);
  const host = urlHost(name);
  const ports = tls ? `wssPort: ${port}` : `wsPort: ${port}`;
  return [
    `This is the first start: one app was created in the store.${isSeen ? ' Its secret is printed only this once.' : ''}`,
    '',
    `  app id  ${app.id}`,
    `  key     ${key}`,
    `  secret  ${isSeen ? secret : commandHere(appSecretWords(app.id), configFile)}`,
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

/**
 * Code to paste into a page and a backend to see a first notification arrive. The page has a button, because browsers
 * ask for the permission only after a click.
 */
export function instanceSteps(
  { id, secretKeys, web }: FirstInstance,
  {
    push,
    publicUrl,
    isSeen,
    configFile,
  }: StepsOptions & {
    readonly push: ListenerAddress;
    readonly publicUrl: string | null;
  },
): string[] {
  const [found = ''] = secretKeys;
  const secretKey = isSeen ? found : 'SECRET-KEY';
  const here = fromHere(push);
  const { host } = here;
  const endpoint = publicUrl ?? urlOf(here);
  return [
    `One push instance was created in the store.${isSeen ? ' Its secret key is printed only this once.' : ''}`,
    '',
    `  instance id       ${id}`,
    `  secret key        ${isSeen ? secretKey : commandHere(instanceSecretWords(id), configFile)}`,
    ...(web === undefined ? [] : [`  VAPID public key  ${web.vapidPublicKey}`]),
    '',
    'In a page that gets notifications, at https:// or on localhost:',
    '',
    '  <script src="https://js.pusher.com/beams/2.1.0/push-notifications-cdn.js"></script>',
    '  <script>',
    '    const beams = new PusherPushNotifications.Client({',
    `      instanceId: '${id}', endpointOverride: '${endpoint}'`,
    '    });',
    '  </script>',
    '  <button onclick="beams.start().then(() => beams.addDeviceInterest(\'hello\'))">Subscribe</button>',
    '',
    'In /service-worker.js of the same site:',
    '',
    `  importScripts('${endpoint}/sdk/service-worker.js');`,
    '',
    'In a backend that publishes (npm install @pusher/push-notifications-server):',
    '',
    "  const PushNotifications = require('@pusher/push-notifications-server');",
    '  const push = new PushNotifications({',
    `    instanceId: '${id}',`,
    `    secretKey: '${secretKey}',`,
    `    endpoint: '${host}', port: ${here.port}`,
    '  });',
    // With an endpoint, the library assumes plain HTTP. Source: push protocol, §2.6.
    ...(here.tls ? ["  push.protocol = 'https';"] : []),
    "  push.publishToInterests(['hello'], { web: { notification: { title: 'Hello', body: 'It works' } } });",
    '',
    'Browser push services get your contact address. Before others use this server, set yours:',
    '',
    `  ${commandHere(`instances change ${id} --vapid-subject mailto:YOU@YOUR-DOMAIN`, configFile)}`,
    '',
  ];
}

/**
 * The address of a listener as programs on this machine reach it. Other machines need its name instead, and a Unix socket
 * is reached through a proxy.
 */
function fromHere({ host, port, tls }: ListenerAddress): ListenerAddress {
  if (socketPath(host) !== undefined) return { host: PROXY_HOST, port: 443, tls: true };
  return { host: ['0.0.0.0', '::', ''].includes(host) ? 'localhost' : host, port, tls };
}
