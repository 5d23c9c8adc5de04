import { isGiven, type JsonObject } from '../../runtime/json-object.ts';
import type { ChannelStorage } from '../broadcast-channels.ts';
import { INTEREST_LENGTH_MAX, isInterest } from '../model/interest.ts';
import { FieldFault } from '../refusal.ts';
import { BUNDLE_ID, BUNDLE_ID_RULE } from './registration.ts';

/** A broadcast channel that a backend wants. */
export interface ChannelRequest {
  readonly bundleId: string;
  readonly storage: ChannelStorage;
  /** Without duplicates. */
  readonly interests: readonly string[];
}

/** A channel is for one event, so it has few. */
const INTERESTS_PER_CHANNEL = 100;

/** Reads the body of a request for a channel. */
export function readChannelRequest(body: JsonObject): ChannelRequest | FieldFault {
  const { bundleId, storage, interests } = body;
  if (typeof bundleId !== 'string' || !BUNDLE_ID.test(bundleId)) {
    return new FieldFault('bundleId', BUNDLE_ID_RULE);
  }
  if (storage !== 'none' && storage !== 'latest') {
    return new FieldFault('storage', 'must be "none" or "latest"');
  }
  const names = readInterests(interests);
  return names instanceof FieldFault ? names : { bundleId, storage, interests: names };
}

function readInterests(value: unknown): readonly string[] | FieldFault {
  if (!isGiven(value)) return new FieldFault('interests', 'interests is required');
  if (!Array.isArray(value)) return new FieldFault('interests', 'must be an array of strings');
  if (value.length > INTERESTS_PER_CHANNEL) {
    return new FieldFault('interests', `must have at most ${INTERESTS_PER_CHANNEL} entries`);
  }
  const wrong = value.findIndex((name) => typeof name !== 'string' || !isInterest(name));
  return wrong < 0
    ? [...new Set(value)]
    : new FieldFault(
        `interests.${wrong}`,
        `must be 1 to ${INTEREST_LENGTH_MAX} of the letters A to Z and a to z, digits, and _ - = @ , . ;`,
      );
}
