import {
  adminPasswordFile,
  readAdminPassword,
  replaceAdminPassword,
} from '../../admin/admin-password-file.ts';
import type { UsableConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { isLoopback } from '../../runtime/ip-address.ts';
import { socketPath } from '../../runtime/listen-host.ts';
import { fail, type Invocation, printResult } from '../invocation.ts';
import { noOperand } from '../options.ts';
import type { ExitCode } from '../output.ts';
import { ownAddress, ownHost } from '../own-address.ts';
import { readConfig } from '../read-config.ts';
import { configuredAddress } from '../server-address.ts';
import { AdminApi } from './admin-api.ts';

/** `fanfare admin password`: shows the password of the admin API, or makes a new one. */
export async function adminPassword(invocation: Invocation): Promise<ExitCode> {
  const { given } = invocation;
  noOperand(given);
  const config = readConfig(invocation);
  if (config === undefined) return 2;
  const isNew = given.has('new');
  if (isNew && config.admin.password !== null) {
    return fail(invocation, 'admin.password is set in the configuration: change it there');
  }
  const file = adminPasswordFile(config.store.url);
  const password = isNew ? replaceAdminPassword(file) : ownAdminPassword(config);
  if (password === undefined) {
    return fail(
      invocation,
      `there is no password at ${file} yet: the server makes it at its first start. Run this with the same --config, in the same directory, as the server`,
    );
  }
  return printResult(invocation, { json: { password }, text: password });
}

/**
 * A client of the running server that this configuration describes. The password of a file goes to this machine only: who
 * has it sent elsewhere must name the address.
 */
export function ownAdminApi({ config, source }: UsableConfig): AdminApi {
  const address = { ...config.admin, tls: false };
  const host = ownHost(config.admin.host);
  if (config.admin.password === null && !isOnThisMachine(host)) {
    throw new Error(
      `the password in ${adminPasswordFile(config.store.url)} is sent to this machine only, and admin.host is ${host}. If that is your server, give --url ${ownAddress(address)}`,
    );
  }
  return new AdminApi(configuredAddress(address, source), ownAdminPassword(config));
}

function isOnThisMachine(host: string): boolean {
  return socketPath(host) !== undefined || host.toLowerCase() === 'localhost' || isLoopback(host);
}

/** The password of the server that this configuration describes; `undefined` if it has none yet. */
export function ownAdminPassword({ admin, store }: Config): string | undefined {
  return admin.password ?? readAdminPassword(adminPasswordFile(store.url))?.password;
}
