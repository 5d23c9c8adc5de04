import type { Gateway } from '../../api/answers.ts';
import { duration, moment } from '../../parts/formats.ts';

export type Platform = Gateway['platform'];

export const names: Readonly<Record<Platform, string>> = {
  apns: 'Apple',
  fcm: 'Google',
  web: 'Browsers',
};

/** The devices that get nothing without a credential. */
export const devices: Readonly<Record<Platform, string>> = {
  apns: 'iPhones, iPads and Macs',
  fcm: 'Android devices',
  web: 'Browsers',
};

interface State {
  readonly look: 'ok' | 'warn' | 'bad' | '';
  /** A short text for the tag. */
  readonly word: string;
  /** Follows the name of the gateway. */
  readonly says: string;
}

/** Whether a gateway accepts the credential, as far as this server knows. */
export function stateOf(gateway: Gateway, nowMs = Date.now()): State {
  const { configured, pauses, acceptedAtMs, refusal } = gateway;
  const [pause] = pauses;
  if (!configured) return { look: '', word: 'no credential', says: 'no credential' };
  if (pause !== undefined) {
    return pause.cause === 'credential'
      ? { look: 'bad', word: 'refused', says: `refused since ${moment(pause.sinceMs)}` }
      : { look: 'bad', word: 'fails', says: `failing since ${moment(pause.sinceMs)}` };
  }
  if (refusal !== null && refusal.atMs > (acceptedAtMs ?? 0)) {
    return { look: 'warn', word: 'last refused', says: `last refused at ${moment(refusal.atMs)}` };
  }
  if (acceptedAtMs === null) {
    return { look: '', word: 'not used yet', says: 'nothing sent since the start' };
  }
  const ago = duration(nowMs - acceptedAtMs);
  return { look: 'ok', word: 'accepted', says: `accepted the last one ${ago} ago` };
}
