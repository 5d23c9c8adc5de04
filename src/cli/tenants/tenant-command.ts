import type { Config } from '../../config/schema.ts';
import { printable } from '../../runtime/logging/printable.ts';
import type { Database } from '../../stores/database/database.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import type { AdminApi } from '../admin/admin-api.ts';
import { adminApiOf, givenServer } from '../channels/running-server.ts';
import { fail, type Invocation, printList } from '../invocation.ts';
import { openStore } from '../open-store.ts';
import { noOperand, onlyOperand } from '../options.ts';
import type { ExitCode } from '../output.ts';
import { readWholeConfig } from '../read-config.ts';

/** One call of a command that manages tenants. */
export interface TenantCall<Admin> extends Invocation {
  readonly admin: Admin;
  /** Where the configuration defines tenants of this kind, by their ids. These are not in the store. */
  readonly places: ReadonlyMap<string, string>;
  /** A client of the running server, which knows what the store does not. Throws an error that says why there is none. */
  readonly api: () => AdminApi;
}

export interface TenantCommands<Admin> {
  readonly noun: 'app' | 'instance';
  readonly adminOf: (database: Database, config: Config) => Admin;
}

/**
 * Makes a command that manages the tenants in the store. A running server applies each change within a second, so it
 * need not be notified.
 */
export function tenantCommand<Admin>(
  { noun, adminOf }: TenantCommands<Admin>,
  action: (call: TenantCall<Admin>) => Promise<ExitCode>,
) {
  return async (invocation: Invocation): Promise<ExitCode> => {
    const given = givenServer(invocation);
    const loaded = readWholeConfig(invocation);
    if (loaded === undefined) return 2;
    const { config } = loaded;
    const places = loaded.tenants[noun];
    await using database = await openStore(config);
    try {
      const api = () => adminApiOf(given, loaded);
      return await action({ ...invocation, admin: adminOf(database, config), places, api });
    } catch (error) {
      if (!(error instanceof OperationRefused)) throw error;
      if (error.status !== 404) return fail(invocation, error.message);
      const [id = ''] = invocation.given.operands;
      const place = places.get(id) ?? places.get(id.toLowerCase());
      const hint =
        place === undefined
          ? `See: fanfare ${noun}s list`
          : `It is configured in ${place}: see and change it there.`;
      return fail(
        invocation,
        `${error.message}${place === undefined ? '' : ' in the store'}\n${hint}`,
      );
    }
  };
}

/** Prints the tenants of the store, one line for each, and where the configuration defines others. */
export function printTenants<Item>(
  call: Pick<TenantCall<unknown>, 'given' | 'output' | 'places'>,
  items: readonly Item[],
  {
    noun,
    ...shown
  }: {
    readonly noun: 'app' | 'instance';
    readonly json: (item: Item) => unknown;
    readonly line: (item: Item) => string;
  },
): ExitCode {
  const idsOf = Map.groupBy(call.places, ([, place]) => place);
  const configured = [...idsOf].map(
    ([place, found]) => `Configured in ${place}: ${found.map(([id]) => id).join(' ')}`,
  );
  const none = `The store has no ${noun}.`;
  const create = `${none} Create one: fanfare ${noun}s create`;
  return printList(call, items, {
    ...shown,
    none: configured.length === 0 ? create : none,
    after: configured.map(printable),
  });
}

/** The id of the tenant that a command is for. Throws `UsageError`. */
export function tenantId({ given }: Invocation, noun: 'app' | 'instance'): string {
  return onlyOperand(given, `which ${noun}? Its id is missing; see: fanfare ${noun}s list`);
}

/** Throws `UsageError` if a command that creates a tenant has an operand, which is probably meant as its name. */
export function noTenantId({ given }: Invocation, noun: 'app' | 'instance'): void {
  noOperand(given, `; the name of the ${noun} goes after --name`);
}
