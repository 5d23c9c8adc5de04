import { AdminApi } from '../admin-api.ts';
import { ownAdminApi, ownAdminPassword } from '../admin-password.ts';
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
    const given = serverUrl(invocation.given, 'http://127.0.0.1:6003');
    const loaded = readWholeConfig(invocation);
    if (loaded === undefined) return 2;
    const { config } = loaded;
    if (given === undefined && isAnyPort(config.admin)) {
      return fail(invocation, 'admin.port is 0, so the server may be at any port: give its --url');
    }
    const api =
      given === undefined
        ? ownAdminApi(loaded)
        : new AdminApi(givenAddress(given), ownAdminPassword(config));
    return await action({ ...invocation, api });
  };
}
