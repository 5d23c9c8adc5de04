import type { InstanceDirectory, PushInstance } from '../push/model/instance.ts';
import type { LiveInstance } from './push-instance.ts';

/** The instances of this server, in memory. */
export class MemoryInstanceDirectory implements InstanceDirectory {
  private instances: ReadonlyMap<string, PushInstance> = new Map();

  byId(id: string): PushInstance | undefined {
    return this.instances.get(id.toLowerCase());
  }

  byNumber(number: number): PushInstance | undefined {
    return this.instances.values().find((instance) => instance.number === number);
  }

  /** Replaces all instances. Code that holds an old `PushInstance` keeps the old settings. */
  replace(live: readonly LiveInstance[]): void {
    this.instances = new Map(live.map(({ instance }) => [instance.id, instance]));
  }
}
