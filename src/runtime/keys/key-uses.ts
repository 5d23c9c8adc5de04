import type { Clock } from '../ports.ts';

/** What a key is used for: a request of a backend, a connection of a client, or something that a backend signed for a client. */
export type KeyPurpose = 'request' | 'connection' | 'signature';

/** When a key was last used, in milliseconds since 1970. A purpose without a time: never. */
export type LastUses = Readonly<Partial<Record<KeyPurpose, number>>>;

/** How one key was used. `key` is what it may be called where secrets are not shown. */
export interface UsedKey {
  readonly key: string;
  readonly lastAtMs: LastUses;
  /** Open connections that were opened with it. */
  readonly connections: number;
}

/** Records when one key was last used. Costs a field per use. */
export class KeyUse {
  private readonly clock: Clock;
  private readonly lastAtMs: Partial<Record<KeyPurpose, number>> = {};
  private connections = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  note(purpose: KeyPurpose): void {
    this.lastAtMs[purpose] = this.clock.now();
  }

  /** A connection was opened with the key. Until it is closed, the key is in use. */
  opened(): void {
    this.connections++;
    this.note('connection');
  }

  closed(): void {
    this.connections--;
    this.note('connection');
  }

  shown(key: string): UsedKey {
    return { key, lastAtMs: { ...this.lastAtMs }, connections: this.connections };
  }
}

/** The keys of one tenant, and when each was last used. Bounded by the number of keys. */
export class KeyUses {
  private readonly clock: Clock;
  private uses: ReadonlyMap<string, KeyUse> = new Map();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Sets the keys that the tenant has now. What is known of the others is forgotten. */
  replace(keys: readonly string[]): this {
    const { uses } = this;
    this.uses = new Map(keys.map((key) => [key, uses.get(key) ?? new KeyUse(this.clock)]));
    return this;
  }

  /** `undefined`: the tenant has no such key. */
  of(key: string): KeyUse | undefined {
    return this.uses.get(key);
  }

  /** All keys in the order of the tenant. `nameOf` makes what a key may be called. */
  shown(nameOf: (key: string) => string): readonly UsedKey[] {
    return Array.from(this.uses, ([key, use]) => use.shown(nameOf(key)));
  }
}

/**
 * Merges what several loops or servers know of the keys of one tenant: the latest use counts. Keys with equal names are told
 * apart by their order.
 */
export function mergeUses(all: readonly (readonly UsedKey[])[]): readonly UsedKey[] {
  const merged = new Map<string, UsedKey>();
  for (const keys of all) {
    const seen = new Map<string, number>();
    for (const one of keys) {
      const nth = seen.get(one.key) ?? 0;
      seen.set(one.key, nth + 1);
      const place = `${nth} ${one.key}`;
      const before = merged.get(place);
      merged.set(place, before === undefined ? one : together(before, one));
    }
  }
  return [...merged.values()];
}

function together(a: UsedKey, b: UsedKey): UsedKey {
  const lastAtMs: Partial<Record<KeyPurpose, number>> = { ...a.lastAtMs };
  for (const purpose of ['request', 'connection', 'signature'] as const) {
    const atMs = b.lastAtMs[purpose];
    if (atMs !== undefined) lastAtMs[purpose] = Math.max(atMs, lastAtMs[purpose] ?? 0);
  }
  return { key: a.key, lastAtMs, connections: a.connections + b.connections };
}
