import { type ConfigProblem, pathText } from '../file/problems.ts';
import { SEND_BUFFER_BYTES } from './channels-settings.ts';
import { invisibleCredentials } from './credentials.ts';
import { linkProblems } from './link-checks.ts';
import { entries, type FoundSetting, valueAt } from './unchecked.ts';
import { vapidSubjectFault } from './vapid-subject.ts';

/**
 * Finds settings that contradict each other. It reads the unchecked value, so that these problems are reported
 * together with all others, and ignores values that the schema refuses.
 */
export function crossCheck(content: unknown): readonly ConfigProblem[] {
  const apps = entries(content, ['channels', 'apps']);
  const keys = apps.flatMap((app) => entries(app.value, ['keys'], app.path));
  const instances = entries(content, ['push', 'instances']);
  return [
    ...repeated('id', apps, (id) => (typeof id === 'number' ? String(id) : id)),
    ...repeated('key', keys, (key) => key),
    ...repeated('id', instances, (id) => (typeof id === 'string' ? id.toLowerCase() : id)),
    ...instances.flatMap((instance) =>
      repeatedText(entries(instance.value, ['secretKeys'], instance.path)),
    ),
    ...vapidSubjects(instances),
    ...invisibleCredentials(content),
    ...linkProblems(content),
    ...twoCertificates(content),
    ...largeValues(content, apps),
    ...redisServers(content),
  ];
}

/** Reports every entry whose field has the same text as in an earlier entry. */
function repeated(
  field: string,
  found: readonly FoundSetting[],
  normalise: (value: unknown) => unknown,
): readonly ConfigProblem[] {
  const first = new Map<string, FoundSetting>();
  return found.flatMap((entry) => {
    const value = normalise(valueAt(entry.value, [field]));
    if (typeof value !== 'string' || value === '') return [];
    const before = first.get(value);
    if (before === undefined) {
      first.set(value, entry);
      return [];
    }
    const message = `is already the ${field} of ${pathText(before.path)}`;
    return [{ path: pathText([...entry.path, field]), message }];
  });
}

/** Reports duplicates in a list of texts. */
function repeatedText(found: readonly FoundSetting[]): readonly ConfigProblem[] {
  const first = new Map<unknown, FoundSetting>();
  return found.flatMap((entry) => {
    const before = first.get(entry.value);
    if (before === undefined) first.set(entry.value, entry);
    if (before === undefined || typeof entry.value !== 'string') return [];
    return [{ path: pathText(entry.path), message: `is the same as ${pathText(before.path)}` }];
  });
}

function vapidSubjects(instances: readonly FoundSetting[]): readonly ConfigProblem[] {
  return instances.flatMap((instance) => {
    const message = vapidSubjectFault(valueAt(instance.value, ['web']));
    const path = pathText([...instance.path, 'web', 'vapid', 'subject']);
    return message === undefined ? [] : [{ path, message }];
  });
}

/** A newcomer could not be sent such a value. The default is lowered instead. */
function largeValues(content: unknown, apps: readonly FoundSetting[]): readonly ConfigProblem[] {
  const buffer = valueAt(content, ['channels', 'sendBufferBytes']) ?? SEND_BUFFER_BYTES;
  if (typeof buffer !== 'number') return [];
  const most = Math.floor(buffer / 4);
  return apps.flatMap((app) => {
    const bytes = valueAt(app.value, ['limits', 'appendBytes']);
    if (typeof bytes !== 'number' || bytes <= most) return [];
    const message = `must be at most a quarter of channels.sendBufferBytes, ${most}`;
    return [{ path: pathText([...app.path, 'limits', 'appendBytes']), message }];
  });
}

function twoCertificates(content: unknown): readonly ConfigProblem[] {
  const isSet = (name: string) => (valueAt(content, ['tls', name]) ?? null) !== null;
  const given = ['certFile', 'keyFile'].find(isSet);
  if (!isSet('acme') || given === undefined) return [];
  return [{ path: 'tls.acme', message: `cannot be set together with tls.${given}` }];
}

function redisServers(content: unknown): readonly ConfigProblem[] {
  if (valueAt(content, ['engine', 'type']) !== 'redis') return [];
  const isSet = (name: string) => valueAt(content, ['engine', name]) !== undefined;
  if (isSet('url') && isSet('urls')) {
    return [{ path: 'engine.urls', message: 'cannot be set together with engine.url' }];
  }
  if (!isSet('url') && !isSet('urls')) {
    return [{ path: 'engine.url', message: 'required, or engine.urls for several Redis servers' }];
  }
  return repeatedText(entries(content, ['engine', 'urls']));
}
