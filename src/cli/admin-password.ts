import {
  adminPasswordFile,
  readAdminPassword,
  replaceAdminPassword,
} from '../admin/admin-password-file.ts';
import type { Config } from '../config/schema.ts';
import type { Arguments } from './options.ts';
import { type ExitCode, type Output, UsageError } from './output.ts';
import { readConfig } from './read-config.ts';

/** `fanfare admin password`: shows the password of the admin API, or makes a new one. */
export async function adminPassword(given: Arguments, output: Output): Promise<ExitCode> {
  if (given.words[0] !== undefined) throw new UsageError(`unexpected "${given.words[0]}"`);
  const config = readConfig(given.value('config'), output);
  if (config === undefined) return 2;
  const isNew = given.has('new');
  if (isNew && config.admin.password !== null) {
    output.complain('fanfare: admin.password is set in the configuration: change it there');
    return 1;
  }
  const file = adminPasswordFile(config.store.url);
  const password = isNew ? replaceAdminPassword(file) : ownAdminPassword(config);
  if (password === undefined) {
    output.complain(
      `fanfare: there is no password at ${file} yet: the server makes it at its first start. Run this with the same --config, in the same directory, as the server`,
    );
    return 1;
  }
  output.print(given.has('json') ? JSON.stringify({ password }) : password);
  return 0;
}

/** The password of the server that this configuration describes; `undefined` where it has none yet. */
export function ownAdminPassword({ admin, store }: Config): string | undefined {
  return admin.password ?? readAdminPassword(adminPasswordFile(store.url))?.password;
}
