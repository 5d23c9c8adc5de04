import type { App } from '../../channels/app.ts';
import type { UserRoster } from '../../channels/ports.ts';

/** The signed-in users of a single node, in memory. */
export class MemoryUserRoster implements UserRoster {
  /** Number of connections, by app and user. */
  private readonly connections = new Map<string, number>();

  signIn(app: App, userId: string): boolean {
    const key = keyOf(app, userId);
    const connections = (this.connections.get(key) ?? 0) + 1;
    this.connections.set(key, connections);
    return connections === 1;
  }

  signOut(app: App, userId: string): boolean {
    const key = keyOf(app, userId);
    const connections = (this.connections.get(key) ?? 0) - 1;
    if (connections < 0) throw new Error(`${userId} is not signed in`);
    if (connections > 0) this.connections.set(key, connections);
    else this.connections.delete(key);
    return connections === 0;
  }

  online(app: App, userIds: readonly string[]): ReadonlySet<string> {
    return new Set(userIds.filter((userId) => this.connections.has(keyOf(app, userId))));
  }
}

function keyOf(app: App, userId: string): string {
  // App ids have no slash.
  return `${app.id}/${userId}`;
}
