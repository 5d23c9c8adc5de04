import { openStoredDevices, type StoredDevicesAdmin } from '../../admin/offline-devices.ts';
import { printable } from '../../runtime/printable.ts';
import { type Arguments, CONFIG_OPTION, JSON_OPTION, type Option } from '../options.ts';
import { type ExitCode, type Output, UsageError } from '../output.ts';
import { readConfig } from '../read-config.ts';

type Action = (
  store: StoredDevicesAdmin,
  id: string,
  given: Arguments,
  output: Output,
) => Promise<ExitCode>;

type DeviceFilter = Parameters<StoredDevicesAdmin['list']>[1];

const PLATFORMS = ['apns', 'fcm', 'web'] as const;
const LIMIT = 50;
const LIMIT_MAX = 1000;

const FILTER_OPTIONS: readonly Option[] = [
  { name: 'platform', value: 'PLATFORM', help: `Only devices of ${PLATFORMS.join(', ')}.` },
  { name: 'never-accepted', help: 'Only devices whose token no gateway has ever accepted.' },
  {
    name: 'older-than',
    value: 'AGE',
    help: 'Only devices that registered longer ago, such as 30d, 12h or 45m.',
  },
  {
    name: 'not-seen-for',
    value: 'AGE',
    help: 'Only devices that were not heard of for longer.',
  },
];

export const DEVICES_LIST_OPTIONS: readonly Option[] = [
  ...FILTER_OPTIONS,
  {
    name: 'limit',
    value: 'N',
    help: `The most to list, up to ${LIMIT_MAX}; ${LIMIT} if left out.`,
  },
  CONFIG_OPTION,
  JSON_OPTION,
];

export const DEVICES_REMOVE_OPTIONS: readonly Option[] = [
  ...FILTER_OPTIONS,
  { name: 'dry-run', help: 'Only count them.' },
  CONFIG_OPTION,
  JSON_OPTION,
];

/** `fanfare devices …`: lists and removes devices in the store, also while a server uses it. */
export function devicesCommand(action: Action) {
  return async (given: Arguments, output: Output): Promise<ExitCode> => {
    const id = instanceIdOf(given);
    const config = readConfig(given.value('config'), output);
    if (config === undefined) return 2;
    await using store = await openStoredDevices(config.store.url);
    return await action(store, id, given, output);
  };
}

export const listDevices: Action = async (store, id, given, output) => {
  const found = await store.list(id, filterOf(given), limitOf(given));
  if (found === undefined) return noSuchInstance(id, output);
  const { devices, hasMore } = found;
  if (given.has('json')) {
    output.print(JSON.stringify(devices));
    return 0;
  }
  if (devices.length === 0) output.print('There is no such device.');
  for (const { id: device, registeredAt, seenAt, accepted, userId, client } of devices) {
    const owner = userId === null ? '' : `  user ${printable(userId)}`;
    output.print(
      `${device}  registered ${registeredAt}  seen ${seenAt}  ${accepted ? 'accepted' : 'never accepted'}${owner}  ${printable(client)}`,
    );
  }
  if (hasMore) output.print('There may be more: see --limit.');
  return 0;
};

export const removeDevices: Action = async (store, id, given, output) => {
  const filter = filterOf(given);
  const { platform, neverAccepted, registeredBeforeMs, seenBeforeMs } = filter;
  if (!neverAccepted && [platform, registeredBeforeMs, seenBeforeMs].every((one) => !one)) {
    throw new UsageError(
      'which devices? Give --platform, --never-accepted, --older-than or --not-seen-for',
    );
  }
  const isDryRun = given.has('dry-run');
  const devices = await store.remove(id, filter, isDryRun);
  if (devices === undefined) return noSuchInstance(id, output);
  const what = `${devices} ${devices === 1 ? 'device' : 'devices'}`;
  output.print(
    given.has('json')
      ? JSON.stringify({ instance: id, devices, dryRun: isDryRun })
      : isDryRun
        ? `${what} of instance ${id} would be removed.`
        : `${what} of instance ${id} removed. Those that are still in use register again.`,
  );
  return 0;
};

function filterOf(given: Arguments): DeviceFilter {
  const nowMs = Date.now();
  const before = (name: string) => {
    const age = given.value(name);
    return age === undefined ? undefined : nowMs - ageMs(name, age);
  };
  return {
    platform: platformOf(given),
    neverAccepted: given.has('never-accepted'),
    registeredBeforeMs: before('older-than'),
    seenBeforeMs: before('not-seen-for'),
  };
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function ageMs(name: string, text: string): number {
  const [, digits, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (digits === undefined) {
    throw new UsageError(`--${name} must be like 30d, 12h or 45m, not "${text}"`);
  }
  return Number(digits) * (UNIT_MS[unit] ?? 0);
}

function platformOf(given: Arguments): DeviceFilter['platform'] {
  const text = given.value('platform');
  if (text === undefined) return undefined;
  const platform = PLATFORMS.find((one) => one === text);
  if (platform === undefined) {
    throw new UsageError(`--platform must be one of ${PLATFORMS.join(', ')}, not "${text}"`);
  }
  return platform;
}

function limitOf(given: Arguments): number {
  const text = given.value('limit');
  if (text === undefined) return LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LIMIT_MAX) {
    throw new UsageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}, not "${text}"`);
  }
  return limit;
}

function instanceIdOf({ words: [id, more] }: Arguments): string {
  if (id === undefined) {
    throw new UsageError('of which instance? Its id is missing; see: fanfare instances list');
  }
  if (more !== undefined) throw new UsageError(`unexpected "${more}"`);
  return id.toLowerCase();
}

function noSuchInstance(id: string, output: Output): ExitCode {
  output.complain(`fanfare: the store knows no instance ${id}; see: fanfare instances list`);
  return 1;
}
