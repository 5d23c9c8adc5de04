import type { App } from '../channels/app.ts';
import type { AppDirectory } from '../channels/ports.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What a new list of apps changed for open connections. */
export interface DirectoryChange {
  /** Apps that were disabled or deleted. Their connections must be closed. */
  readonly gone: readonly App[];
}

/** The apps of this server, in memory. */
export class MemoryAppDirectory implements AppDirectory {
  private readonly ids = new Map<string, Writable<App>>();
  private keys = new Map<string, App>();

  byKey(key: string): App | undefined {
    return this.keys.get(key);
  }

  byId(id: string): App | undefined {
    return this.ids.get(id);
  }

  all(): Iterable<App> {
    return this.ids.values();
  }

  /** Replaces all apps. A known app keeps its object, so that code that holds it sees the change. */
  replace(apps: readonly App[]): DirectoryChange {
    const gone: App[] = [];
    const named = new Set(apps.map(({ id }) => id));
    for (const [id, app] of this.ids) {
      if (named.has(id)) continue;
      // Code that still holds it must stop serving it.
      app.enabled = false;
      this.ids.delete(id);
      gone.push(app);
    }
    this.keys = new Map();
    for (const app of apps) {
      const known = this.ids.get(app.id);
      const live: Writable<App> = known ?? { ...app };
      if (known?.enabled && !app.enabled) gone.push(known);
      if (known !== undefined) Object.assign(known, app);
      else this.ids.set(app.id, live);
      for (const { key } of app.keys) this.keys.set(key, live);
    }
    return { gone };
  }
}
