import type { Platform } from '../model/device.ts';
import { apnsReasons } from './apns-reasons.ts';
import { connectionReasons } from './connection-reasons.ts';
import { fcmReasons, NO_ACCESS_TOKEN } from './fcm-reasons.ts';
import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';
import { noGateway, serverReasons } from './server-reasons.ts';
import { statusMeaning } from './status-reasons.ts';
import { webReasons } from './web-reasons.ts';

/** The cause of something in plain English, and what to do about it. */
export interface Advice {
  /** Can follow "because"; no full stop. Contains the reason code, so that it can be searched for. */
  readonly why: string;
  /** Whole sentences. `undefined`: nothing can or need be done. */
  readonly advice: string | undefined;
}

/** The reason of an outcome on a platform. */
export interface GivenReason {
  readonly platform: Platform;
  readonly reason: string;
  /** The gateway's own text, or empty. */
  readonly words: string;
  /** Whether the device was kept or removed, if known. */
  readonly device?: 'kept' | 'removed';
}

const gatewayReasons: Readonly<Record<Platform, ReasonMeanings>> = {
  apns: apnsReasons,
  fcm: fcmReasons,
  web: webReasons,
};

const documentation: Readonly<Record<Platform, string>> = {
  apns: 'Look it up in Apple\'s documentation: "Handling notification responses from APNs".',
  fcm: 'Look it up in the documentation of Firebase: "FCM error codes".',
  web: 'Look it up in the documentation of the push service.',
};

/** Explains any reason. For an unknown one, it quotes the gateway. */
export function adviceOn({ platform, reason, words, device }: GivenReason): Advice {
  const known = knownMeaning(platform, reason);
  const meaning = { ...known, ...(device === undefined ? {} : known?.[device]) };
  const code = reason === '' ? '' : ` (${reason})`;
  if (meaning.hasCause === true && words !== '') {
    const cause = adviceOn({ platform, reason: words, words: '' });
    return {
      why: `${meaning.why}${code}. The last cause: ${cause.why}`,
      advice: cause.advice ?? meaning.advice,
    };
  }
  const { why = 'the gateway gave a reason that this server does not know' } = meaning;
  return {
    why: `${why}${code}${quotedWords(meaning, words)}`,
    advice: known === undefined ? documentation[platform] : meaning.advice,
  };
}

function quotedWords({ saysAll, hasDetails }: Partial<ReasonMeaning>, words: string): string {
  if (words === '' || saysAll === true) return '';
  return hasDetails === true ? `: ${words}` : `. The gateway said: "${words}"`;
}

/** Whether this server knows the meaning of a reason. */
export function isKnownReason(platform: Platform, reason: string): boolean {
  return knownMeaning(platform, reason) !== undefined;
}

function knownMeaning(platform: Platform, reason: string): ReasonMeaning | undefined {
  if (reason === 'no-gateway') return noGateway(platform);
  return (
    lookUp(gatewayReasons[platform], reason) ??
    lookUp(connectionReasons, reason) ??
    lookUp(serverReasons, reason) ??
    meaningOfForm(platform, reason)
  );
}

/** The meaning of reasons that are too many to list. */
function meaningOfForm(platform: Platform, reason: string): ReasonMeaning | undefined {
  const [, status] = /^http-([1-9]\d\d)$/.exec(reason) ?? [];
  if (status !== undefined) return statusMeaning(platform, Number(status));
  return platform === 'fcm' && reason.startsWith('access-token-') ? NO_ACCESS_TOKEN : undefined;
}

/** Looks up own keys only: reasons come from outside, and may be named `constructor`. */
function lookUp(meanings: ReasonMeanings, reason: string): ReasonMeaning | undefined {
  return Object.hasOwn(meanings, reason) ? meanings[reason] : undefined;
}
