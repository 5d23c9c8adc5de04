import type { PublishTarget } from '../../src/push/model/publish.ts';
import type { Dialect } from '../../src/stores/database/dialect.ts';
import {
  type Crowd,
  crowdsOf,
  DEVICES_OF_USER,
  INTEREST_PREFIX,
  namesOf,
  USER_PREFIX,
} from './crowds.ts';

/** One audience to read. */
export interface AudienceQuestion {
  readonly name: string;
  readonly instance: number;
  readonly target: PublishTarget;
  /** How many devices that must give. */
  readonly devices: number;
  /** What it should take at most with a million devices. */
  readonly secondsMax: Partial<Readonly<Record<Dialect, number>>>;
}

/** Everything that is asked of a trial with so many devices. */
export function questionsOf(devices: number): readonly AudienceQuestion[] {
  const { wide, deep } = crowdsOf(devices);
  return [
    {
      name: 'one interest',
      ...interests(wide, 1),
      secondsMax: { sqlite: 2, postgres: 6 },
    },
    { name: '10 interests, all overlap', ...interests(wide, 10), secondsMax: { sqlite: 5 } },
    { name: '100 interests, all overlap', ...interests(deep, 100), secondsMax: {} },
    {
      name: `${wide.users} users`,
      instance: wide.instance,
      target: { kind: 'users', names: namesOf(USER_PREFIX, wide.users) },
      devices: wide.users * DEVICES_OF_USER,
      secondsMax: {},
    },
  ];
}

function interests({ instance, devices }: Crowd, count: number) {
  const target: PublishTarget = { kind: 'interests', names: namesOf(INTEREST_PREFIX, count) };
  return { instance, target, devices };
}
