import { type Config, configSchema } from './schema.ts';
import { settingsOf } from './schema-walk.ts';
import { isObject } from './settings/plain-json.ts';
import { valueAt } from './settings/unchecked.ts';
import { areSamePlaces } from './settings/url-logins.ts';

/** The settings that a running server takes over when it reads its configuration again. */
const APPLIED: ReadonlySet<string> = new Set([
  'channels.apps',
  'push.instances',
  'push.publicUrl',
  'push.tokenLeewaySeconds',
  'push.tokenIssuers',
  'push.addressLimits.requestsPerSecond',
  'push.addressLimits.rowsPerSecond',
  'push.addressLimits.reportsPerSecond',
  'engine.sentinels.user',
  'engine.sentinels.password',
  'tls.certFile',
  'tls.keyFile',
  ...['engine.tls', 'engine.sentinels.tls', 'store.tls'].flatMap((group) =>
    ['caFile', 'certFile', 'keyFile'].map((name) => `${group}.${name}`),
  ),
]);

/** Of these, only users and passwords: the next connections use them. */
const LOGIN_APPLIED: ReadonlySet<string> = new Set(['engine.url', 'engine.urls', 'store.url']);

/**
 * The settings that differ from those of the start of a server, and that it takes over only when it starts again. Of a group
 * that was added or removed, only the group.
 */
export function settingsForRestart(atStart: Config, now: Config): readonly string[] {
  const paths = settingsOf(configSchema)
    .map(({ path }) => path)
    .filter((path) => !path.includes('[]') && !APPLIED.has(path))
    .flatMap(withGroups);
  const valuesAt = (path: string) => {
    const names = path.split('.');
    return [valueAt(atStart, names), valueAt(now, names)] as const;
  };
  const isGroup = (path: string) => valuesAt(path).every(isObject);
  return [...new Set(paths)].filter((path) => {
    const [before, after] = valuesAt(path);
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('.')));
    const isInGroup = parent === '' || isGroup(parent);
    if (LOGIN_APPLIED.has(path) && areSamePlaces(before, after)) return false;
    return isInGroup && !isGroup(path) && !Bun.deepEquals(before, after);
  });
}

/** A path, after those of the groups that it is in. */
function withGroups(path: string): readonly string[] {
  const names = path.split('.');
  return names.map((_, index) => names.slice(0, index + 1).join('.'));
}
