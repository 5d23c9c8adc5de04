import type { InstanceDirectory, PushInstance } from '../push/model/instance.ts';

/** The instances of this server, in memory. */
export class MemoryInstanceDirectory implements InstanceDirectory {
  private instances: ReadonlyMap<string, PushInstance> = new Map();

  byId(id: string): PushInstance | undefined {
    return this.instances.get(id.toLowerCase());
  }

  byNumber(number: number): PushInstance | undefined {
    return this.instances.values().find((instance) => instance.number === number);
  }

  /** Takes over a whole new list. Whoever holds an instance of the old one goes on with what it was. */
  replace(instances: readonly PushInstance[]): void {
    this.instances = new Map(instances.map((instance) => [instance.id, instance]));
  }
}
