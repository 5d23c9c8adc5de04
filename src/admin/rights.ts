import type { Config } from '../config/schema.ts';
import type { Caller } from '../runtime/caller.ts';
import { printable } from '../runtime/logging/printable.ts';
import { OperationRefused } from '../tenants/operation-refused.ts';

/** The roles, the least first. Each may do what those before it may. */
export const roles = ['viewer', 'support', 'operator', 'admin'] as const;

export type Role = (typeof roles)[number];

/** What a caller may do. */
export interface Rights {
  readonly role: Role;
  /** The apps that the caller may see; `*` means all. */
  readonly apps: '*' | readonly string[];
  /** The push instances that the caller may see, in lower case; `*` means all. */
  readonly instances: '*' | readonly string[];
  /** Whether the caller may see payloads and personal data. */
  readonly seesPayloads: boolean;
}

type RightsConfig = Pick<Config, 'admin' | 'dashboard'>;

/** Finds the rights of a caller; `undefined` if there are none. The first matching entry of `admin.roles` applies. */
export function rightsOf(caller: Caller, { admin, dashboard }: RightsConfig): Rights | undefined {
  const showsPayloads = dashboard.payloads === 'show';
  switch (caller.how) {
    case 'password':
      return { role: 'admin', apps: '*', instances: '*', seesPayloads: showsPayloads };
    case 'local':
      return { role: 'viewer', apps: '*', instances: '*', seesPayloads: false };
    case 'proxy': {
      const entry = admin.roles.find(({ group }) => group === '*' || caller.groups.includes(group));
      return (
        entry && {
          role: entry.role,
          apps: entry.apps ?? '*',
          instances: entry.instances?.map((id) => id.toLowerCase()) ?? '*',
          seesPayloads:
            showsPayloads && entry.payloads === 'show' && hasRole(entry.role, 'support'),
        }
      );
    }
    case 'nobody':
      return undefined;
    default:
      return caller.how satisfies never;
  }
}

/** Groups that a refusal lists. */
const GROUPS_SHOWN = 10;

/** Refuses a caller without a role. Says whom to ask, and which names an entry in `admin.roles` must have. */
export function noRole({ user, groups }: Caller): OperationRefused {
  const [shown, more] = [groups.slice(0, GROUPS_SHOWN), groups.length - GROUPS_SHOWN];
  const named = [...shown, ...(more > 0 ? [`${more} more`] : [])].map(printable).join(', ');
  return new OperationRefused(
    'forbidden',
    `You have no role on this server. Ask whoever runs it for an entry in admin.roles: you are ${printable(user ?? '')}, and the proxy names ${named === '' ? 'no groups' : `these groups of yours: ${named}`}`,
  );
}

export function hasRole(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least);
}

export function seesApp({ apps }: Rights, id: string): boolean {
  return apps === '*' || apps.includes(id);
}

export function seesInstance({ instances }: Rights, id: string): boolean {
  return instances === '*' || instances.includes(id.toLowerCase());
}

export function seesEverything({ apps, instances }: Rights): boolean {
  return apps === '*' && instances === '*';
}

/** Refuses a list of everything to callers who may only see some apps and instances. */
export function requireOwner(
  { app, instance }: { readonly app: string | undefined; readonly instance: string | undefined },
  rights: Rights,
): void {
  if (seesEverything(rights)) return;
  if (app !== undefined && seesApp(rights, app)) return;
  if (instance !== undefined && seesInstance(rights, instance)) return;
  throw new OperationRefused('forbidden', 'Name one of your apps or instances in the query');
}
