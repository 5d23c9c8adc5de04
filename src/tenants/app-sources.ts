import type { App } from '../channels/app.ts';
import { appSettings } from '../config/channels-settings.ts';
import type { Config } from '../config/schema.ts';
import type { StoredApp } from '../stores/tenants/app-store.ts';

/** The apps that the configuration names. */
export function configuredApps(config: Config): readonly App[] {
  return config.channels.apps ?? [];
}

/** Which stored apps can be served, and which not and why. */
export interface StoredApps {
  readonly apps: readonly App[];
  readonly left: readonly { readonly id: string; readonly why: string }[];
}

/** Completes stored apps with the defaults of the configuration. What the configuration names goes before. */
export function storedApps(stored: readonly StoredApp[], configured: readonly App[]): StoredApps {
  const ids = new Set(configured.map(({ id }) => id));
  const keys = new Set(configured.flatMap((app) => app.keys.map(({ key }) => key)));
  const apps: App[] = [];
  const left: { id: string; why: string }[] = [];
  for (const app of stored) {
    if (ids.has(app.id) || app.keys.some(({ key }) => keys.has(key))) {
      left.push({ id: app.id, why: 'the configuration has an app with its id or key' });
      continue;
    }
    const { id, name, enabled, keys: pairs } = app;
    const read = appSettings.safeParse({ ...app.settings, id, name, enabled, keys: pairs });
    if (read.success) apps.push(read.data);
    else left.push({ id, why: read.error.issues.map(({ message }) => message).join('; ') });
  }
  return { apps, left };
}
