import { isJsonObject, parseJsonObject } from '../../../../runtime/json-object.ts';
import { UsageError } from '../../../output.ts';
import { recordsOf } from './csv.ts';
import { device, refused, type SourceOptions, type SourceRow } from './source-row.ts';

/** `device_type` of what can be reached here. Source: OneSignal, "CSV export" and "Add a device". */
const PLATFORMS: Readonly<Record<string, 'apns' | 'fcm' | 'web'>> = {
  '0': 'apns',
  '1': 'fcm',
  '5': 'web',
  '8': 'web',
  '12': 'web',
  '17': 'web',
};

/** Safari before version 16 had push of its own. */
const OLD_SAFARI = '7';

/** Without these columns nothing can be read. */
const NEEDED = ['identifier', 'device_type'];

/** Reads what `csv_export` of OneSignal gives. */
export async function* readOneSignal(
  text: AsyncIterable<string>,
  options: SourceOptions,
): AsyncGenerator<SourceRow> {
  let columns: ReadonlyMap<string, number> | undefined;
  for await (const record of recordsOf(text)) {
    if (columns === undefined) {
      columns = columnsOf(record);
      continue;
    }
    const places = columns;
    const field = (name: string) => record[places.get(name) ?? -1]?.trim() ?? '';
    yield record.length > places.size
      ? refused('', 'has more fields than the first line')
      : rowOf(field, options);
  }
}

function columnsOf(record: readonly string[]): ReadonlyMap<string, number> {
  const columns = new Map(record.map((name, at) => [name.trim(), at]));
  const missing = NEEDED.find((name) => !columns.has(name));
  if (missing === undefined) return columns;
  throw new UsageError(
    `the first line names no column "${missing}": is this the file that csv_export of OneSignal made?`,
  );
}

function rowOf(field: (name: string) => string, { bundle, tags }: SourceOptions): SourceRow {
  if (isUnsubscribed(field)) return { is: 'unsubscribed' };
  const type = field('device_type');
  const platform = PLATFORMS[type];
  if (platform === undefined) {
    const reason =
      type === OLD_SAFARI
        ? 'is 7: Safari before version 16 cannot be reached by Web Push'
        : 'is no device with Apple, Google or Web Push';
    return refused('device_type', reason);
  }
  const identifier = field('identifier');
  return device({
    platform,
    token:
      platform === 'web'
        ? { endpoint: identifier, keys: { p256dh: field('web_p256'), auth: field('web_auth') } }
        : identifier,
    bundleId: platform === 'apns' ? bundle : undefined,
    userId: field('external_user_id'),
    language: field('language'),
    timeZone: field('timezone_id'),
    interests: tags ? interestsOf(field('tags')) : undefined,
  });
}

/** Source: OneSignal, "CSV export": `notification_types` is 1 or more for who is subscribed; in old exports it is empty. */
function isUnsubscribed(field: (name: string) => string): boolean {
  const types = field('notification_types');
  return /^(?:t|true|1)$/i.test(field('invalid_identifier')) || (types !== '' && Number(types) < 1);
}

/** The tags, such as `{"plan":"gold"}`, as interests, such as `plan=gold`. */
function interestsOf(tags: string): readonly string[] | undefined {
  const object = parseJsonObject(tags);
  return isJsonObject(object)
    ? Object.entries(object).map(([name, value]) => `${name}=${value}`)
    : undefined;
}
