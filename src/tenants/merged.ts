import { isObject } from '../config/settings/plain-json.ts';

export type Settings = Readonly<Record<string, unknown>>;

/** Applies a change to settings: objects are merged, `null` removes a setting, any other value replaces it. */
export function merged(settings: Settings, change: Settings): Settings {
  const changed = Object.entries(change).filter(([, value]) => value !== undefined);
  const names = new Set(changed.map(([name]) => name));
  return Object.fromEntries([
    ...Object.entries(settings).filter(([name]) => !names.has(name)),
    ...changed.flatMap(([name, value]) => {
      if (value === null) return [];
      const before = settings[name];
      return [[name, isObject(value) ? merged(isObject(before) ? before : {}, value) : value]];
    }),
  ]);
}
