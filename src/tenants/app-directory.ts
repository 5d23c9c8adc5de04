import type { App, KeySet } from '../channels/app.ts';
import type { AppDirectory } from '../channels/ports.ts';
import type { Tap } from '../channels/watching/tap.ts';
import { KeyUses } from '../runtime/keys/key-uses.ts';
import type { Clock } from '../runtime/ports.ts';
import { systemTimers } from '../runtime/system-timers.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What a new list of apps changed for open connections. */
export interface DirectoryChange {
  /** Apps that were disabled or deleted. Their connections must be closed. */
  readonly gone: readonly App[];
  /** Apps that limit the connections of a user from now on. */
  readonly usersLimited: readonly App[];
}

/** The apps of this server, in memory. */
export class MemoryAppDirectory implements AppDirectory {
  private readonly clock: Clock;
  private readonly ids = new Map<string, Writable<App>>();
  private keys = new Map<string, App>();

  constructor(clock: Clock = systemTimers) {
    this.clock = clock;
  }

  byKey(key: string): App | undefined {
    return this.keys.get(key);
  }

  byId(id: string): App | undefined {
    return this.ids.get(id);
  }

  all(): Iterable<App> {
    return this.ids.values();
  }

  /** Sets or removes the tap of an app. Does nothing if the app does not exist. */
  setTap(id: string, tap: Tap | undefined): void {
    const app = this.ids.get(id);
    if (app !== undefined) app.tap = tap;
  }

  /** Sets the key set of an app's issuer. Does nothing if the app does not exist. */
  setKeySet(id: string, keySet: KeySet | undefined): void {
    const app = this.ids.get(id);
    if (app !== undefined) app.keySet = keySet;
  }

  /**
   * Replaces all apps. A known app keeps its object, so that code that holds it sees the change. Apps in `deleted` are gone,
   * even if another app has the id now.
   */
  replace(apps: readonly App[], deleted: readonly string[] = []): DirectoryChange {
    const gone: App[] = [];
    const usersLimited: App[] = [];
    const named = new Set(apps.map(({ id }) => id)).difference(new Set(deleted));
    for (const [id, app] of this.ids) {
      if (named.has(id)) continue;
      // Code that still refers to it must stop serving it.
      app.enabled = false;
      app.tap = undefined;
      this.ids.delete(id);
      gone.push(app);
    }
    this.keys = new Map();
    for (const app of apps) {
      const known = this.ids.get(app.id);
      // With places for these, so that live apps have one shape.
      const live: Writable<App> = known ?? {
        ...app,
        keySet: undefined,
        tap: undefined,
        keyUses: new KeyUses(this.clock),
      };
      if (known?.enabled && !app.enabled) gone.push(known);
      if (known?.limits.connectionsPerUser === 0 && app.limits.connectionsPerUser > 0) {
        usersLimited.push(known);
      }
      if (known !== undefined) Object.assign(known, app);
      else this.ids.set(app.id, live);
      live.keyUses?.replace(app.keys.map(({ key }) => key));
      for (const { key } of app.keys) this.keys.set(key, live);
    }
    return { gone, usersLimited };
  }
}
