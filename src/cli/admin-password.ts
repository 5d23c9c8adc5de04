import {
  adminPasswordFile,
  readAdminPassword,
  replaceAdminPassword,
} from '../admin/admin-password-file.ts';
import type { Config } from '../config/schema.ts';
import { fail, type Invocation, printResult } from './invocation.ts';
import { noOperand } from './options.ts';
import type { ExitCode } from './output.ts';
import { readConfig } from './read-config.ts';

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

/** The password of the server that this configuration describes; `undefined` if it has none yet. */
export function ownAdminPassword({ admin, store }: Config): string | undefined {
  return admin.password ?? readAdminPassword(adminPasswordFile(store.url))?.password;
}
