import {
  deviceKind,
  ID_PREFIX,
  ID_PREFIX_RULE,
  type ShownDevice,
  showDevice,
} from '../../admin/push/device-shapes.ts';
import { platforms } from '../../push/model/device.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { type DeviceFilter, DeviceList } from '../../stores/push/devices/device-list.ts';
import { StoredInstances } from '../../stores/tenants/instance-store.ts';
import { countOf, fail, type Invocation, printResult } from '../invocation.ts';
import { openStore } from '../open-store.ts';
import {
  type Arguments,
  CONFIG_OPTION,
  choiceOf,
  JSON_OPTION,
  LIMIT_OPTION,
  limitOf,
  type Option,
  onlyOperand,
} from '../options.ts';
import { type ExitCode, UsageError } from '../output.ts';
import { readConfig } from '../read-config.ts';

interface Call extends Invocation {
  readonly devices: DeviceList;
  readonly instanceId: string;
  /** The number of the instance in the store. */
  readonly instance: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

const FILTER_OPTIONS: readonly Option[] = [
  { name: 'platform', value: 'PLATFORM', help: `Only devices of ${platforms.join(', ')}.` },
  { name: 'never-accepted', help: 'Only devices whose token no gateway has ever accepted.' },
  {
    name: 'older-than',
    value: 'AGE',
    help: 'Only devices that registered longer ago than this, such as 30d, 12h or 45m.',
  },
  {
    name: 'not-seen-for',
    value: 'AGE',
    help: 'Only devices that have not registered nor set a token, a user or metadata for this long.',
  },
];

export const DEVICES_LIST_OPTIONS: readonly Option[] = [
  {
    name: 'id',
    value: 'ID',
    help: 'Only the device with this id, or those whose ids begin with it.',
  },
  { name: 'user', value: 'USER', help: 'Only devices of this user.' },
  {
    name: 'interest',
    value: 'INTEREST',
    help: 'Only devices that are subscribed to this interest.',
  },
  {
    name: 'import',
    value: 'NAME',
    help: 'Only devices of this import that no SDK has registered since.',
  },
  {
    name: 'kind',
    value: 'KIND',
    help: `Only further tokens of Apple devices: ${deviceKind.options.join(', ')}.`,
  },
  {
    name: 'paused',
    help: 'Only devices that nothing is sent to for now, because their gateway asked for that or fails for them alone.',
  },
  ...FILTER_OPTIONS,
  LIMIT_OPTION,
  CONFIG_OPTION,
  JSON_OPTION,
];

export const DEVICES_REMOVE_OPTIONS: readonly Option[] = [
  ...FILTER_OPTIONS,
  { name: 'dry-run', help: 'Count the devices without removing them.' },
  CONFIG_OPTION,
  JSON_OPTION,
];

/** `fanfare devices …`: lists and removes devices in the store, even while a server uses it. */
export function devicesCommand(action: (call: Call) => Promise<ExitCode>) {
  return async (invocation: Invocation): Promise<ExitCode> => {
    const missing = 'of which instance? Its id is missing; see: fanfare instances list';
    const instanceId = onlyOperand(invocation.given, missing).toLowerCase();
    const config = readConfig(invocation);
    if (config === undefined) return 2;
    await using database = await openStore(config);
    const instance = await new StoredInstances(database).findNumber(instanceId);
    if (instance === undefined) {
      return fail(
        invocation,
        `the store knows no instance ${instanceId}; see: fanfare instances list`,
      );
    }
    const devices = new DeviceList(database);
    return await action({ ...invocation, devices, instanceId, instance });
  };
}

export async function listDevices(call: Call): Promise<ExitCode> {
  const { given, devices, instance } = call;
  const filter = filterOf(given);
  const limit = limitOf(given);
  const shown: ShownDevice[] = [];
  let next: number | undefined = 0;
  while (next !== undefined && shown.length < limit) {
    const found = await devices.list({
      instance,
      filter,
      after: next,
      limit: limit - shown.length,
    });
    shown.push(...found.devices.map((one) => showDevice(one, { seesPayloads: true })));
    next = found.next;
  }
  const lines = shown.length === 0 ? ['There is no such device.'] : shown.map(describeLine);
  if (next !== undefined) lines.push('There may be more: see --limit.');
  return printResult(call, { json: shown, text: lines.join('\n') });
}

export async function removeDevices(call: Call): Promise<ExitCode> {
  const { given, devices, instance, instanceId } = call;
  const filter = filterOf(given);
  const { platform, neverAccepted, registeredBeforeMs, seenBeforeMs } = filter;
  if (!neverAccepted && [platform, registeredBeforeMs, seenBeforeMs].every((one) => !one)) {
    throw new UsageError(
      'which devices? Give --platform, --never-accepted, --older-than or --not-seen-for',
    );
  }
  const dryRun = given.has('dry-run');
  let removed = 0;
  let next: number | undefined = 0;
  while (next !== undefined) {
    const done = await devices.remove({ instance, filter, after: next, isDryRun: dryRun });
    removed += done.devices;
    next = done.next;
  }
  const count = `${countOf(removed, 'device')} of instance ${instanceId}`;
  return printResult(call, {
    json: { instance: instanceId, devices: removed, dryRun },
    text: dryRun
      ? `${count} would be removed.`
      : `${count} removed. Devices that are still in use register again.`,
  });
}

function describeLine(device: ShownDevice): string {
  const { id, kind, registeredAt, seenAt, accepted, pausedUntil, userId, client } = device;
  const named = kind === null ? id : `${id}  ${kind}`;
  const paused = pausedUntil === null ? '' : `, paused until ${pausedUntil}`;
  const state = `${accepted ? 'accepted' : 'never accepted'}${paused}`;
  const owner = userId === null ? '' : `  user ${printable(userId)}`;
  return `${named}  registered ${registeredAt}  seen ${seenAt}  ${state}${owner}  ${printable(client)}`;
}

function filterOf(given: Arguments): DeviceFilter {
  const nowMs = Date.now();
  const timeBefore = (option: string) => {
    const age = given.value(option);
    return age === undefined ? undefined : nowMs - ageMs(option, age);
  };
  return {
    platform: choiceOf(given, { option: 'platform', values: platforms }),
    kind: choiceOf(given, { option: 'kind', values: deviceKind.options }),
    origin: given.value('import'),
    neverAccepted: given.has('never-accepted'),
    registeredBeforeMs: timeBefore('older-than'),
    seenBeforeMs: timeBefore('not-seen-for'),
    pausedAtMs: given.has('paused') ? nowMs : undefined,
    idPrefix: idPrefixOf(given),
    userId: given.value('user'),
    interest: given.value('interest'),
  };
}

function idPrefixOf(given: Arguments): string | undefined {
  const id = given.value('id');
  if (id === undefined || ID_PREFIX.test(id)) return id?.toLowerCase();
  throw new UsageError(`--id ${ID_PREFIX_RULE}, not "${id}"`);
}

function ageMs(option: string, text: string): number {
  const [, digits, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (digits === undefined) {
    throw new UsageError(`--${option} must be like 30d, 12h or 45m, not "${text}"`);
  }
  return Number(digits) * (UNIT_MS[unit] ?? 0);
}
