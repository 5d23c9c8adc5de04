import { z } from 'zod';
import type { UsableConfig } from '../../config/load.ts';
import { AdminApi } from '../admin/admin-api.ts';
import { ownAdminApi, ownAdminPassword } from '../admin/admin-password.ts';
import { fail, type Invocation } from '../invocation.ts';
import { CONFIG_OPTION, type Option, serverUrl } from '../options.ts';
import type { ExitCode } from '../output.ts';
import { isAnyPort } from '../own-address.ts';
import { readWholeConfig } from '../read-config.ts';
import { givenAddress } from '../server-address.ts';

/** The options that select a running server. */
export const SERVER_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    help: 'The admin listener of a running server. Default: the server of the configuration.',
  },
  CONFIG_OPTION,
];

/** Makes a command that asks the admin API of a running server. */
export function serverCommand(
  action: (call: Invocation & { readonly api: AdminApi }) => Promise<ExitCode>,
) {
  return async (invocation: Invocation): Promise<ExitCode> => {
    const given = givenServer(invocation);
    const loaded = readWholeConfig(invocation);
    if (loaded === undefined) return 2;
    if (given === undefined && isAnyPort(loaded.config.admin)) return fail(invocation, ANY_PORT);
    const api = adminApiOf(given, loaded);
    try {
      return await action({ ...invocation, api });
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      throw new Error(`${api.shown} answers like another version of Fanfare`, { cause: error });
    }
  };
}

const ANY_PORT = 'admin.port is 0, so the server may be at any port: give its --url';

/** The address that `--url` gives. Throws `UsageError`. */
export function givenServer({ given }: Invocation): string | undefined {
  return serverUrl(given, 'http://127.0.0.1:6003');
}

/** A client of the server at a given address, or of that of the configuration. Throws an error that says why there is none. */
export function adminApiOf(given: string | undefined, loaded: UsableConfig): AdminApi {
  if (given !== undefined)
    return new AdminApi(givenAddress(given), ownAdminPassword(loaded.config));
  if (isAnyPort(loaded.config.admin)) throw new Error(ANY_PORT);
  return ownAdminApi(loaded);
}
