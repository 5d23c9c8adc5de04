/** Devices that one user may have on each platform. Source: push protocol, §2.3. */
export const DEVICES_OF_USER = 100;
const USERS_MAX = 1000;

/** Devices that all have the same interests, in an instance of their own. */
export interface Crowd {
  readonly instance: number;
  readonly firstNumber: number;
  readonly devices: number;
  /** How many interests each of them has: those with the first so many names. */
  readonly interests: number;
  /** How many users there are; each has 100 of the devices, spread over the device order. */
  readonly users: number;
}

/** The crowds of one trial. */
export interface Crowds {
  /** Many devices with ten interests each. */
  readonly wide: Crowd;
  /** A tenth as many, with a hundred interests each. */
  readonly deep: Crowd;
}

export function crowdsOf(devices: number): Crowds {
  return {
    wide: {
      instance: 1,
      firstNumber: 1,
      devices,
      interests: 10,
      users: Math.min(USERS_MAX, Math.floor(devices / DEVICES_OF_USER)),
    },
    deep: {
      instance: 2,
      firstNumber: devices + 1,
      devices: Math.ceil(devices / 10),
      interests: 100,
      users: 0,
    },
  };
}

export const INTEREST_PREFIX = 'team-updates-';
export const USER_PREFIX = 'user-';

export function namesOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}
