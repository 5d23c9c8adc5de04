import type { App } from '../../channels/app.ts';
import type { UserRoster } from '../../channels/ports.ts';

/** Who is signed in, on a server that runs alone. Answers at once. */
export class MemoryUserRoster implements UserRoster {
  /** Connections by app and user. */
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
    if (connections < 0) throw new Error(`${userId} is not signed in, so nobody can sign out`);
    if (connections > 0) this.connections.set(key, connections);
    else this.connections.delete(key);
    return connections === 0;
  }

  online(app: App, userIds: readonly string[]): ReadonlySet<string> {
    return new Set(userIds.filter((userId) => this.connections.has(keyOf(app, userId))));
  }
}

function keyOf(app: App, userId: string): string {
  // App ids hold no slash.
  return `${app.id}/${userId}`;
}
