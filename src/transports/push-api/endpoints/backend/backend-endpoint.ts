import { hash, timingSafeEqual } from 'node:crypto';
import type { MaybePromise } from '../../../../channels/maybe-promise.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import type { Backend, PushAnswer, PushCall, PushEndpoint, PushHead } from '../../call.ts';
import { bearerOf } from '../bearer.ts';
import { refuseContentType } from '../content-type.ts';
import type { EndpointContext } from '../context.ts';

const NO_AUTHORIZATION = new PushRefusal('incomplete', 'The Authorization header is missing');

/** As recorded. Source: push protocol, §2.2. */
const WRONG_SECRET = new PushRefusal('unauthorized', 'Incorrect Secret Key');

/** The body that an endpoint takes. Publishes have rates of their own. */
type Takes = 'publish' | 'small-json' | 'nothing';

/** An endpoint for backends with a secret key of the instance. */
export function backendEndpoint(
  context: EndpointContext,
  takes: Takes,
  answer: (instance: PushInstance, call: PushCall) => MaybePromise<PushAnswer>,
): PushEndpoint {
  return {
    checkHead: (head) =>
      (takes === 'nothing' ? undefined : refuseContentType(head)) ??
      admitBackend(context, head, takes),
    answer(call) {
      // The head was checked before, but the instance may have been deleted since.
      const instance = context.instances.byId(call.params.instance);
      return instance === undefined ? context.guard.noInstance() : answer(instance, call);
    },
  };
}

function admitBackend(
  { instances, guard, backendRates }: EndpointContext,
  head: PushHead,
  takes: Takes,
): PushRefusal | Backend {
  const authorization = head.header('authorization');
  if (authorization === undefined || authorization === '') return NO_AUTHORIZATION;
  const instance = instances.byId(head.params.instance);
  if (instance === undefined) return guard.noInstance();
  const secret = bearerOf(authorization);
  const key = secret === undefined ? undefined : secretKeyOf(instance, secret);
  if (key === undefined) return WRONG_SECRET;
  instance.keyUses?.of(key)?.note('request');
  const refused =
    takes === 'publish' ? backendRates.refusePublish(instance) : backendRates.refuse(instance);
  return refused ?? { instance: instance.number };
}

/** By the list of keys, which is replaced when a key changes. */
const digests = new WeakMap<PushInstance['secretKeys'], readonly Uint8Array[]>();

/** The key that was sent, if it is one. Compares in a time that depends neither on where two keys differ nor on their lengths. */
export function secretKeyOf({ secretKeys }: PushInstance, secret: string): string | undefined {
  let known = digests.get(secretKeys);
  if (known === undefined) {
    known = secretKeys.map((key) => hash('sha256', key, 'buffer'));
    digests.set(secretKeys, known);
  }
  // Node.js decodes headers as Latin-1: one character for each byte.
  const sent = hash('sha256', Buffer.from(secret, 'latin1'), 'buffer');
  let found = -1;
  for (const [index, digest] of known.entries()) {
    if (timingSafeEqual(digest, sent)) found = index;
  }
  return secretKeys[found];
}
