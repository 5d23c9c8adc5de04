import type { Random } from '../../../../testing/random.ts';
import type { WorldTime } from '../world-time.ts';

/** How often the store fails, and how. */
export interface StoreTrouble {
  /** Every call fails. */
  isAway: boolean;
  /** The share of calls that fail, half of them after they took effect. */
  failing: number;
  /** The longest time of a call. */
  slowMs: number;
}

/** When the store was in trouble. */
export interface TroubleTime {
  readonly atMs: number;
}

interface Around {
  readonly time: WorldTime;
  readonly random: Random;
  readonly trouble: StoreTrouble;
  readonly troubles: TroubleTime[];
  /** Called for each call that fails. */
  readonly failed: () => void;
  readonly isAlive: () => boolean;
}

/**
 * A store as a server sees it that may be in trouble: calls take time, fail before or after they took effect, and
 * never settle for a server that has crashed.
 */
export function troubled<Store extends object>(store: Store, around: Around): Store {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => call(() => Reflect.apply(method, target, args), around);
    },
  });
}

async function call(
  run: () => unknown,
  { time, random, trouble, troubles, failed, isAlive }: Around,
): Promise<unknown> {
  const pause = async (ms: number) => {
    if (ms > 0) await new Promise<void>((resolve) => time.after(ms, resolve));
    // A server that crashed gets no answer.
    if (!isAlive()) await new Promise(() => undefined);
  };
  const isTroubled = () => {
    troubles.push({ atMs: time.now() });
    failed();
  };
  const fail = (when: string) => {
    isTroubled();
    throw new Error(`the store failed ${when}`);
  };
  await pause(trouble.slowMs > 0 ? random.between(0, trouble.slowMs) : 0);
  if (trouble.isAway) {
    // Recorded here, because the caller may crash before it gets the error.
    isTroubled();
    await pause(random.pick([0, 0, 700]));
    return fail('since it is away');
  }
  if (!random.chance(trouble.failing)) {
    const answer = await run();
    await pause(trouble.slowMs > 0 ? random.between(0, trouble.slowMs) : 0);
    return answer;
  }
  if (random.chance(0.5)) return fail('before anything was done');
  await run();
  await pause(0);
  return fail('after it was done');
}
