import type { Config } from '../../config/schema.ts';
import { type Database, openDatabase } from '../../stores/database/database.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { fail, type Invocation } from '../invocation.ts';
import { noOperand, onlyOperand } from '../options.ts';
import type { ExitCode } from '../output.ts';
import { readConfig } from '../read-config.ts';

/** One call of a command that manages tenants. */
export interface TenantCall<Admin> extends Invocation {
  readonly admin: Admin;
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
    const config = readConfig(invocation);
    if (config === undefined) return 2;
    await using database = await openDatabase(config.store.url);
    try {
      return await action({ ...invocation, admin: adminOf(database, config) });
    } catch (error) {
      if (!(error instanceof OperationRefused)) throw error;
      const hint =
        error.status === 404
          ? `\nSee: fanfare ${noun}s list. It leaves out ${noun}s of the configuration, which are changed there.`
          : '';
      return fail(invocation, `${error.message}${hint}`);
    }
  };
}

/** The id of the tenant that a command is for. Throws `UsageError`. */
export function tenantId({ given }: Invocation, noun: 'app' | 'instance'): string {
  return onlyOperand(given, `which ${noun}? Its id is missing; see: fanfare ${noun}s list`);
}

/** Throws `UsageError` if a command that creates a tenant has an operand, which is probably meant as its name. */
export function noTenantId({ given }: Invocation, noun: 'app' | 'instance'): void {
  noOperand(given, `; the name of the ${noun} goes after --name`);
}
