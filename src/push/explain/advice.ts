import type { Platform } from '../model/device.ts';
import { apnsReasons } from './apns-reasons.ts';
import { connectionReasons } from './connection-reasons.ts';
import { fcmReasons, NO_ACCESS_TOKEN } from './fcm-reasons.ts';
import type { ReasonMeaning, ReasonMeanings } from './reason-meaning.ts';
import { noGateway, serverReasons } from './server-reasons.ts';
import { statusMeaning } from './status-reasons.ts';
import { webReasons } from './web-reasons.ts';

/** Why something is as it is, in plain words, and what somebody can do about it. */
export interface Advice {
  /** What may follow "because", without a full stop. The reason itself stands in it, to be searched for. */
  readonly why: string;
  /** Whole sentences. `undefined`: nothing can be done, or nothing needs to be. */
  readonly advice: string | undefined;
}

/** What is to be explained: the reason of an outcome on a platform. */
export interface Given {
  readonly platform: Platform;
  readonly reason: string;
  /** The gateway's own, or empty. */
  readonly words: string;
  /** Whether the device was kept or removed for it, where that is known. */
  readonly device?: 'kept' | 'removed';
}

const gatewayReasons: Readonly<Record<Platform, ReasonMeanings>> = {
  apns: apnsReasons,
  fcm: fcmReasons,
  web: webReasons,
};

const documentation: Readonly<Record<Platform, string>> = {
  apns: 'Look it up in what Apple says of "Handling notification responses from APNs".',
  fcm: 'Look it up in what Firebase says of "FCM error codes".',
  web: 'Look it up in the documentation of the push service.',
};

/** Explains a reason, whatever it is: of those that nobody here knows, it says what the gateway said. */
export function adviceOn({ platform, reason, words, device }: Given): Advice {
  const known = knownMeaning(platform, reason);
  const meaning = { ...known, ...(device === undefined ? {} : known?.[device]) };
  const code = reason === '' ? '' : ` (${reason})`;
  const quoted = words === '' || meaning.saysAll === true ? '' : `. Its words: "${words}"`;
  return {
    why: `${meaning.why ?? 'the gateway gave a reason that this server does not know'}${code}${quoted}`,
    advice: known === undefined ? documentation[platform] : meaning.advice,
  };
}

/** Whether a reason is one of those that can be explained. */
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

/** Reasons of which there are too many to name. */
function meaningOfForm(platform: Platform, reason: string): ReasonMeaning | undefined {
  const [, status] = /^http-([1-9]\d\d)$/.exec(reason) ?? [];
  if (status !== undefined) return statusMeaning(platform, Number(status));
  return platform === 'fcm' && reason.startsWith('access-token-') ? NO_ACCESS_TOKEN : undefined;
}

/** Reasons come from outside: one may be called like something that every object has. */
function lookUp(meanings: ReasonMeanings, reason: string): ReasonMeaning | undefined {
  return Object.hasOwn(meanings, reason) ? meanings[reason] : undefined;
}
