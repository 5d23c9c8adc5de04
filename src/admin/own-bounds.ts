import type { HistoryRule } from '../channels/app.ts';
import { HISTORY_RULE_DEFAULTS } from '../config/settings/channels-settings.ts';
import { OperationRefused } from '../tenants/operation-refused.ts';
import { type Rights, seesEverything } from './rights.ts';

/** The settings that bound what a tenant may take of what all share. */
interface Bounds {
  readonly limits?: object;
  readonly history?: readonly HistoryRule[];
  readonly enabled?: boolean;
  readonly compressAboveBytes?: number;
}

/** A change of them, which its schema has checked. */
type GivenBounds = { readonly [Name in keyof Bounds]?: unknown };

/** The parts of a history rule that decide how much the server keeps. */
const KEPT = ['seconds', 'events', 'bytes'] as const;

/**
 * Refuses a change of what bounds a tenant by callers who may see only some apps or instances: those are the tenant's
 * own admins. An unchanged value is no change. A history rule may keep as much as one with the default values. Throws
 * `OperationRefused`.
 */
export function refuseOwnBounds(
  { limits, history, enabled, compressAboveBytes }: GivenBounds,
  { present, rights }: { readonly present: Bounds; readonly rights: Rights },
): void {
  if (seesEverything(rights)) return;
  for (const [name, value] of Object.entries(limits ?? {})) {
    if (value === undefined || value === Reflect.get(present.limits ?? {}, name)) continue;
    throw refused(`limits.${name}`, 'it bounds what the tenant may take from others');
  }
  for (const [index, rule] of ((history ?? []) as readonly HistoryRule[]).entries()) {
    const known = present.history?.find(({ channels }) => channels === rule.channels);
    for (const name of KEPT) {
      const most = Math.max(HISTORY_RULE_DEFAULTS[name], known?.[name] ?? 0);
      if (rule[name] <= most) continue;
      throw refused(`history.${index}.${name}`, `it is more than ${most}`);
    }
  }
  if (compressAboveBytes !== undefined && compressAboveBytes !== present.compressAboveBytes) {
    throw refused('compressAboveBytes', 'compressing takes time that all apps share');
  }
  if (enabled === true && present.enabled === false) {
    throw refused('enabled', 'the operator may have disabled the app');
  }
}

function refused(field: string, why: string): OperationRefused {
  return new OperationRefused(
    'forbidden',
    `${why}, so it takes an admin of the whole server`,
    field,
  );
}
