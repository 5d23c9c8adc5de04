import { cap, quietHours } from '../../config/settings/push-settings.ts';
import { readTimeZone } from '../../runtime/time/time-zone.ts';
import type { Arguments, Option } from '../options.ts';
import { UsageError } from '../output.ts';

/** What holds for devices and users that say nothing themselves. */
export const MANNERS_OPTIONS: readonly Option[] = [
  {
    name: 'time-zone',
    value: 'ZONE',
    help: 'The time zone of devices that say none, such as Europe/Berlin.',
  },
  {
    name: 'quiet-hours',
    value: 'FROM-TO',
    help: 'When notifications wait by the local time of each device that says nothing itself, such as 22:00-07:30. Empty: never.',
  },
  {
    name: 'cap',
    value: 'COUNT/HOURS',
    help: 'How many notifications a device is shown in a time, such as 3/24. Empty: any number.',
  },
];

/** The settings that these options give. `null` removes one. */
export function mannersOf(given: Arguments): Readonly<Record<string, unknown>> {
  const timeZone = given.value('time-zone');
  if (timeZone !== undefined && readTimeZone(timeZone) === undefined) {
    throw new UsageError(
      '--time-zone must be a time zone of the IANA database, for example Europe/Berlin',
    );
  }
  return {
    ...(timeZone !== undefined && { timeZone }),
    ...optional('quietHours', given.value('quiet-hours'), readQuietHours),
    ...optional('cap', given.value('cap'), readCap),
  };
}

function optional(name: string, text: string | undefined, read: (text: string) => object) {
  return text === undefined ? {} : { [name]: text === '' ? null : read(text) };
}

function readQuietHours(text: string): object {
  const [from, to, ...more] = text.split('-');
  const { success, data } = quietHours.safeParse({ from, to });
  if (success && more.length === 0) return data;
  throw new UsageError('--quiet-hours must be two different times, such as 22:00-07:30');
}

function readCap(text: string): object {
  const [, notifications, hours] = /^(\d{1,4})\/(\d{1,3})$/.exec(text) ?? [];
  const { success, data } = cap.safeParse({
    notifications: Number(notifications),
    hours: Number(hours),
  });
  if (success) return data;
  throw new UsageError('--cap must be 1 to 1000 notifications in 1 to 168 hours, such as 3/24');
}
