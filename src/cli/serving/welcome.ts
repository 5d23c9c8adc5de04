import { ownCommand } from '../../config/environment/own-command.ts';
import type { AdminPasswordSource, ListenerAddress } from '../../node/link/messages.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { ownAddress, urlOf } from '../own-address.ts';
import {
  appSecretCommand,
  appSteps,
  instanceSecretCommand,
  instanceSteps,
  type NewApp,
  type NewInstance,
} from './first-steps.ts';

interface WelcomeApp extends NewApp {
  readonly name: string;
  readonly enabled: boolean;
}

interface WelcomeInstance extends NewInstance {
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
    ...(adminPassword === 'file' ? [`          password: ${ownCommand()} admin password`] : []),
    ...(options.hasDashboard ? describeDashboard(admin, options.logInToken) : []),
  ].join('\n');
}

function describeDashboard(admin: ListenerAddress, logInToken: string | undefined): string[] {
  const address = `${ownAddress(admin)}/dashboard`;
  return logInToken === undefined
    ? [`Dashboard ${address}`]
    : [
        `Dashboard ${address}#token=${logInToken}`,
        '          logs you in, once, within 10 minutes',
      ];
}

function describeApps({ apps, createdApp, channels }: WelcomeServer, { isSeen }: WelcomeOptions) {
  const created = apps.find(({ id }) => id === createdApp);
  if (created !== undefined) return appSteps(created, { channels, isSeen });
  if (apps.length === 0) {
    return [`There is no app. Create one: ${ownCommand()} apps create --name NAME`, ''];
  }
  return apps.flatMap(({ id, name, enabled, keys }) => [
    printable(`App ${id}${name === '' ? '' : ` (${name})`}${enabled ? '' : ', disabled'}`),
    `  key     ${keys[0]?.key ?? '(none)'}`,
    `  secret  ${appSecretCommand(id)}`,
    '',
  ]);
}

function describeInstances(server: WelcomeServer, { publicUrl, isSeen }: WelcomeOptions) {
  const { instances, createdInstance, push } = server;
  const created = instances.find(({ id }) => id === createdInstance);
  if (created !== undefined) return instanceSteps(created, { push, publicUrl, isSeen });
  if (instances.length === 0) {
    return [
      `There is no push instance. Create one: ${ownCommand()} instances create --name NAME`,
      '',
    ];
  }
  return instances.flatMap(({ id, name }) => [
    printable(`Instance ${id}${name === '' ? '' : ` (${name})`}`),
    `  secret key  ${instanceSecretCommand(id)}`,
    '',
  ]);
}
