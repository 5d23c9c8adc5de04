import { counted, duration, moment } from '../../parts/formats.ts';

interface Used {
  readonly key: string;
  readonly lastUsedAtMs?: number | undefined;
  readonly connections?: number;
}

/** When the keys of an app or instance were last used, as the admin API answers. */
export interface Uses {
  readonly sinceMs: number;
  readonly keys: readonly Used[];
}

/** A key that was used within this time counts as one that is still in use. Milliseconds. */
const RECENT_MS = 3_600_000;

/** `3 min ago`. `nth`: which of several keys with this name. */
export function lastUse(uses: Uses | undefined, name: string, nth = 0, nowMs = Date.now()): string {
  const used = usedOf(uses, name, nth);
  if (uses === undefined || used === undefined) return 'unknown';
  const { lastUsedAtMs, connections = 0 } = used;
  if (connections > 0) return `now, by ${counted(connections, 'open connection')}`;
  if (lastUsedAtMs !== undefined) return `${duration(nowMs - lastUsedAtMs)} ago`;
  return `not since the last server started, ${moment(uses.sinceMs, nowMs)}`;
}

/** Whether a key was used within the last hour. */
export function isRecentUse(uses: Uses | undefined, name: string, nowMs = Date.now()): boolean {
  const { connections = 0, lastUsedAtMs = 0 } = usedOf(uses, name, 0) ?? {};
  return connections > 0 || nowMs - lastUsedAtMs < RECENT_MS;
}

function usedOf(uses: Uses | undefined, name: string, nth: number): Used | undefined {
  return uses?.keys.filter(({ key }) => key === name)[nth];
}
