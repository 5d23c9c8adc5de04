import { z } from 'zod';
import { messageOf } from '../../runtime/error-code.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { countOf } from '../invocation.ts';
import type { TenantCall } from './tenant-command.ts';

const usesShape = z.looseObject({
  servers: z.array(z.object({ name: z.string(), away: z.boolean() })),
  sinceMs: z.number(),
  keys: z.array(
    z.looseObject({
      key: z.string(),
      lastUsedAtMs: z.number().optional(),
      connections: z.number().optional(),
    }),
  ),
});

/** What a running server knows of the uses of keys. */
export type KnownUses = z.output<typeof usesShape>;

type Used = KnownUses['keys'][number];

/** The uses of keys, or why they are unknown. */
export type ShownKeyUses =
  | { readonly known: KnownUses }
  | { readonly known?: undefined; readonly why: string };

/** A key that was used within this time counts as one that is still in use. Milliseconds. */
const RECENT_MS = 3_600_000;

/** Asks the running server when the keys of an app or instance were last used. Never fails: the store has no part in it. */
export async function keyUsesOf(
  call: Pick<TenantCall<unknown>, 'api'>,
  noun: 'app' | 'instance',
  id: string,
): Promise<ShownKeyUses> {
  try {
    const path = `/${noun}s/${encodeURIComponent(id)}/keys`;
    const { status, body } = await call.api().request('GET', path);
    if (status === 200) return { known: usesShape.parse(body) };
    return { why: `the server does not serve this ${noun}, or is of an older version` };
  } catch (error) {
    return {
      why: error instanceof z.ZodError ? 'the server is of another version' : messageOf(error),
    };
  }
}

/** Says of each key when it was last used. `names`: all keys of the tenant, which are told apart by their order if equal. */
export function usedWords(
  uses: ShownKeyUses,
  names: readonly string[],
  nowMs = Date.now(),
): readonly string[] {
  const { known } = uses;
  if (known === undefined) return names.map(() => `unknown: ${uses.why}`);
  return names.map((_, place) => {
    const used = usedAt(known, names, place);
    // It looks for changes of the store twice a second.
    return used === undefined
      ? 'unknown: the server has not learned of the key yet'
      : lastUse(used, known, nowMs);
  });
}

function usedAt({ keys }: KnownUses, names: readonly string[], place: number): Used | undefined {
  const name = names[place];
  const nth = names.slice(0, place).filter((one) => one === name).length;
  return keys.filter(({ key }) => key === name)[nth];
}

function lastUse(
  { lastUsedAtMs, connections = 0 }: Used,
  { sinceMs }: KnownUses,
  nowMs: number,
): string {
  if (connections > 0) return `now, by ${countOf(connections, 'open connection')}`;
  if (lastUsedAtMs !== undefined) return ago(nowMs - lastUsedAtMs);
  return `not since the last server started, at ${new Date(sinceMs).toISOString()}`;
}

/** Names the servers that did not answer, whose part is missing. */
export function awayWords({ known }: ShownKeyUses): readonly string[] {
  const away = known?.servers.filter((server) => server.away).map(({ name }) => name) ?? [];
  if (away.length === 0) return [];
  return [printable(`The uses at ${away.join(', ')} are missing: no answer.`)];
}

/** Says before the key at a place is removed when it was last used, and what follows if that was within the last hour. */
export function removalWords(uses: ShownKeyUses, names: readonly string[], place: number): string {
  const nowMs = Date.now();
  const used = uses.known && usedAt(uses.known, names, place);
  const { lastUsedAtMs = 0, connections = 0 } = used ?? {};
  const isRecent = connections > 0 || nowMs - lastUsedAtMs < RECENT_MS;
  const words = `Last use of the removed key: ${usedWords(uses, names, nowMs)[place]}.`;
  return isRecent ? `Warning: ${words} Who still has it is refused from now on.` : words;
}

/** `3 minutes ago`. */
function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  for (const [unit, length] of [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const) {
    if (seconds >= length) return `${countOf(Math.floor(seconds / length), unit)} ago`;
  }
  return `${countOf(seconds, 'second')} ago`;
}
