import type { Caller } from '../runtime/caller.ts';
import { OperationRefused } from '../tenants/operation-refused.ts';
import type { Operation } from './operation.ts';
import type { PathValues } from './path-values.ts';
import { hasRole, noRole, type Rights, seesApp, seesEverything, seesInstance } from './rights.ts';

interface Asked {
  readonly caller: Caller;
  readonly path: PathValues;
  readonly query: Readonly<Record<string, string>>;
}

/** Throws `OperationRefused` if a caller with these rights may not run an operation. */
export function authorise(
  { role, path, restricted }: Operation,
  rights: Rights | undefined,
  asked: Asked,
): asserts rights is Rights {
  if (rights === undefined) {
    throw noRole(asked.caller);
  }
  const least = asked.query['secrets'] === 'true' ? 'admin' : role;
  if (!hasRole(rights.role, least)) {
    throw new OperationRefused(
      'forbidden',
      `This takes the role ${least}; yours is ${rights.role}`,
    );
  }
  const id = asked.path.of('id');
  // The same answer as for an unknown id, so that callers cannot find out which ids exist.
  if (path.startsWith('/apps/{id}')) {
    if (!seesApp(rights, id)) throw new OperationRefused('not-found', `There is no app ${id}`);
  } else if (path.startsWith('/instances/{id}')) {
    if (seesInstance(rights, id)) return;
    throw new OperationRefused('not-found', `There is no instance ${id}`);
  } else if (restricted !== 'filtered' && !seesEverything(rights)) {
    throw new OperationRefused(
      'forbidden',
      'This concerns the whole server, and your role is only for some apps or instances',
    );
  }
}
