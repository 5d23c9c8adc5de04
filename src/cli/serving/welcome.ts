import type { TenantPlaces } from '../../config/tenant-places.ts';
import type { AdminPasswordSource, ListenerAddress } from '../../node/link/messages.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { browserAddress, urlOf } from '../own-address.ts';
import {
  appSecretWords,
  appSteps,
  commandHere,
  type FirstApp,
  type FirstInstance,
  instanceSecretWords,
  instanceSteps,
} from './first-steps.ts';

interface WelcomeApp extends FirstApp {
  readonly name: string;
  readonly enabled: boolean;
}

interface WelcomeInstance extends FirstInstance {
  readonly name: string;
}

/** A server that has started, as far as its welcome text needs it. */
export interface WelcomeServer {
  readonly channels: ListenerAddress;
  readonly push: ListenerAddress;
  readonly admin: ListenerAddress;
  readonly adminPassword: AdminPasswordSource;
  /** The number of realtime loops. */
  readonly threads: number;
  readonly apps: readonly WelcomeApp[];
  /** The id of the app that was created because there was none. */
  readonly createdApp: string | undefined;
  readonly instances: readonly WelcomeInstance[];
  /** The id of the instance that was created because there was none. */
  readonly createdInstance: string | undefined;
}

export interface WelcomeOptions {
  /** The configured URL of the push listener for browsers. */
  readonly publicUrl: string | null;
  readonly hasDashboard: boolean;
  /** Whether nothing may be created in the store, because other servers do not see it. */
  readonly isStoreOwn: boolean;
  /** Where the configuration defines apps and instances. */
  readonly tenants: TenantPlaces;
  /** What `--config` named. Commands need it, too. */
  readonly configFile: string | undefined;
  /** Makes the address of the dashboard a link that logs in; `undefined` if nobody may see it. */
  readonly logInToken: string | undefined;
  /** Whether a person reads the output. Output that goes elsewhere is often stored, and read by others. */
  readonly isSeen: boolean;
}

/** The text that `serve` prints: the addresses of the server, and how to use it. */
export function welcome(server: WelcomeServer, options: WelcomeOptions): string {
  const { channels, push, admin, adminPassword, threads } = server;
  return [
    ...describeApps(server, options),
    ...describeInstances(server, options),
    `Channels  ${urlOf(channels)}   WebSocket clients and the HTTP API${threads === 1 ? '' : `, on ${threads} threads`}`,
    `Push      ${urlOf(push)}   devices, and backends that publish`,
    `Admin     ${urlOf(admin)}   /healthz, /readyz, /metrics and /api/v1`,
    ...(adminPassword === 'file'
      ? [`          password: ${commandHere('admin password', options.configFile)}`]
      : []),
    ...(options.hasDashboard ? describeDashboard(admin, options.logInToken) : []),
  ].join('\n');
}

function describeDashboard(admin: ListenerAddress, logInToken: string | undefined): string[] {
  const address = `${browserAddress(admin)}/dashboard`;
  return logInToken === undefined
    ? [`Dashboard ${address}`]
    : [
        `Dashboard ${address}#token=${logInToken}`,
        '          logs you in, once, within 10 minutes',
      ];
}

function describeApps(server: WelcomeServer, options: WelcomeOptions): string[] {
  const { apps, createdApp, channels } = server;
  const created = apps.find(({ id }) => id === createdApp);
  if (created !== undefined) return appSteps(created, { ...options, channels });
  if (apps.length === 0) return describeNone('app', options);
  return apps.flatMap(({ id, name, enabled, keys }) => [
    printable(`App ${id}${name === '' ? '' : ` (${name})`}${enabled ? '' : ', disabled'}`),
    `  key     ${keys[0]?.key ?? '(none)'}`,
    `  secret  ${whereSecretIs(options.tenants.app.get(id), appSecretWords(id), options)}`,
    '',
  ]);
}

function describeInstances(server: WelcomeServer, options: WelcomeOptions): string[] {
  const { instances, createdInstance, push } = server;
  const created = instances.find(({ id }) => id === createdInstance);
  if (created !== undefined) return instanceSteps(created, { ...options, push });
  if (instances.length === 0) return describeNone('push instance', options);
  return instances.flatMap(({ id, name }) => [
    printable(`Instance ${id}${name === '' ? '' : ` (${name})`}`),
    `  secret key  ${whereSecretIs(options.tenants.instance.get(id), instanceSecretWords(id), options)}`,
    '',
  ]);
}

/** Commands show the secrets of the store only. */
function whereSecretIs(
  place: string | undefined,
  words: string,
  { configFile }: WelcomeOptions,
): string {
  return place === undefined
    ? commandHere(words, configFile)
    : printable(`as configured in ${place}`);
}

function describeNone(
  noun: 'app' | 'push instance',
  { configFile, isStoreOwn }: WelcomeOptions,
): string[] {
  const [setting, group] =
    noun === 'app' ? ['channels.apps', 'apps'] : ['push.instances', 'instances'];
  const how = isStoreOwn
    ? `Add one to ${setting} in the configuration.`
    : `Create one: ${commandHere(`${group} create --name NAME`, configFile)}`;
  return [`There is no ${noun}. ${how}`, ''];
}
