import type { InstanceDirectory, PushInstance } from '../push/model/instance.ts';
import { KeyUses } from '../runtime/keys/key-uses.ts';
import type { Clock } from '../runtime/ports.ts';
import { systemTimers } from '../runtime/system-timers.ts';
import type { LiveInstance } from './push-instance.ts';

/** The instances of this server, in memory. */
export class MemoryInstanceDirectory implements InstanceDirectory {
  private readonly clock: Clock;
  private instances: ReadonlyMap<string, PushInstance> = new Map();

  constructor(clock: Clock = systemTimers) {
    this.clock = clock;
  }

  byId(id: string): PushInstance | undefined {
    return this.instances.get(id.toLowerCase());
  }

  byNumber(number: number): PushInstance | undefined {
    return this.instances.values().find((instance) => instance.number === number);
  }

  /** Replaces all instances. Code that holds an old `PushInstance` keeps the old settings. */
  replace(live: readonly LiveInstance[]): void {
    const before = this.instances;
    this.instances = new Map(
      live.map(({ instance }) => {
        const known = before.get(instance.id);
        // An instance with another number is another one.
        const kept = known?.number === instance.number ? known.keyUses : undefined;
        const keyUses = (kept ?? new KeyUses(this.clock)).replace(instance.secretKeys);
        return [instance.id, { ...instance, keyUses }];
      }),
    );
  }
}
