import type { MaybePromise } from '../../../../channels/maybe-promise.ts';
import { countedBytes } from '../../../../push/backlog-store.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import type { LiveRequest } from '../../../../push/model/live.ts';
import type {
  Acceptance,
  NewPublish,
  PublishId,
  PublishRequest,
  PublishTarget,
  RuleCause,
} from '../../../../push/model/publish.ts';
import { newPublishId } from '../../../../push/model/publish-id.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import {
  fingerprintOf,
  IDEMPOTENCY_MS,
  readIdempotencyKey,
} from '../../../../push/requests/idempotency.ts';
import { readPublishRequest } from '../../../../push/requests/publish-request.ts';
import type { PushTapEvent } from '../../../../push/watching/push-tap.ts';
import type { PushAnswer, PushEndpoint } from '../../call.ts';
import { liveRulesOf } from '../../live-rules.ts';
import type { EndpointContext } from '../context.ts';
import type { InstanceRates } from '../request-rate.ts';
import { backendEndpoint } from './backend-endpoint.ts';

/** A publish that finds no room looks for it for this long. */
const ROOM_WAIT_MS = 2_000;

/** Publishes finish within seconds, unless a gateway fails. */
const PENDING_RETRY_SECONDS = 30;

/** The body of a publish, and how often it counts if it is sent again. */
export interface GivenPublish {
  readonly kind: PublishTarget['kind'];
  readonly body: Uint8Array;
  readonly idempotencyKey: string | undefined;
  /** A rule of an app has made it of an event. */
  readonly ofRule?: { readonly rule: RuleCause; readonly live: LiveRequest } | undefined;
}

/** Accepts a publish of an instance. The caller has checked who sent it. The publish is durable when this settles. */
export type AcceptPublish = (
  instance: PushInstance,
  given: GivenPublish,
) => MaybePromise<PublishId | PushRefusal>;

/**
 * Makes the function that accepts publishes. The order of checks is that of push protocol, §2.2: only valid publishes
 * count towards the rate of publishes. `invalid` is called for all others.
 */
export function createAcceptPublish(context: EndpointContext, rates: InstanceRates) {
  const { taps, guard, now } = context;
  return (
    instance: PushInstance,
    { kind, body, idempotencyKey, ofRule }: GivenPublish,
    invalid?: () => void,
  ): MaybePromise<PublishId | PushRefusal> => {
    const key = readIdempotencyKey(idempotencyKey ?? null);
    if (key instanceof PushRefusal) return key;
    const nowMs = now();
    const app = context.live?.appOf(instance);
    const liveRules = app && liveRulesOf(app);
    const read = readPublishRequest(kind, body, {
      instanceId: instance.id,
      declarative: instance.web?.declarative,
      nowMs,
      liveRules,
    });
    if (read instanceof PushRefusal) {
      invalid?.();
      return read;
    }
    const request = ofRule === undefined ? read : { ...read, ...ofRule };
    const { number, limits } = instance;
    const refused = rates.refuse({
      instance: number,
      limit: limits.publishesPerSecond,
      nowMs,
    });
    if (refused !== undefined) return refused;
    const id = newPublishId(nowMs);
    return guard.ask(
      () =>
        acceptWithRoom(context, {
          ...request,
          id,
          instance: number,
          createdAtMs: nowMs,
          idempotency:
            key === undefined
              ? undefined
              : {
                  key,
                  fingerprint: fingerprintOf(kind, body),
                  expiresAtMs: nowMs + IDEMPOTENCY_MS,
                },
          devicesMax: limits.devices,
          pendingBytesMax: limits.pendingPublishBytes,
        }),
      (acceptance) => {
        if (acceptance.result === 'accepted') {
          context.accepted?.();
          // A different id means that this publish repeats an earlier one.
          if (acceptance.id === id) taps.watched?.get(number)?.record(eventOf(id, request));
          // One that repeats another was asked then, and a scheduled one will be when it is due.
          const isNow = acceptance.id === id && request.sendAtMs === undefined;
          const { live, target } = request;
          const appId = ofRule?.rule.app ?? app?.id;
          if (isNow && live !== undefined && appId !== undefined) {
            // An interest names no users.
            const userIds = target.kind === 'users' ? target.names : 'signed-in';
            context.live?.ask({ id, instance: number, appId, live, userIds });
          }
        }
        if (acceptance.result === 'too-much-pending') logTooMuchPending(context, instance);
        return answerOf(acceptance, instance);
      },
    );
  };
}

/** A publish that finds no room waits a moment until others have given way, or are finished. */
function acceptWithRoom(
  { publishes, makeRoom, now }: EndpointContext,
  publish: NewPublish,
): Promise<Acceptance> {
  const { instance, body } = publish;
  return publishes.accept(publish).then(async (acceptance) => {
    if (acceptance.result === 'accepted' && acceptance.isRoomScarce) void makeRoom?.(instance, 0);
    const endMs = now() + ROOM_WAIT_MS;
    let last = acceptance;
    // Others that wait may have taken the room.
    while (last.result === 'too-much-pending' && now() <= endMs) {
      if ((await makeRoom?.(instance, countedBytes(body))) !== true) break;
      last = await publishes.accept(publish);
    }
    return last;
  });
}

/** `POST …/publishes/interests` and `…/users`: accepts a publish of a backend. */
export function publish(
  context: EndpointContext,
  kind: PublishTarget['kind'],
  accept: ReturnType<typeof createAcceptPublish>,
): PushEndpoint {
  return backendEndpoint(context, 'publish', (instance, call) => {
    const { body } = call;
    const idempotencyKey = call.header('idempotency-key');
    const accepted = accept(instance, { kind, body, idempotencyKey }, () =>
      context.backendRates.countInvalid(instance, body.length),
    );
    return accepted instanceof Promise ? accepted.then(answered) : answered(accepted);
  });
}

function answered(accepted: PublishId | PushRefusal): PushAnswer {
  // An id needs no escaping in JSON.
  return accepted instanceof PushRefusal ? accepted : { json: `{"publishId":"${accepted}"}` };
}

/** Names of a target that a live stream shows. */
const NAMES_SHOWN = 5;

function eventOf(
  publish: PublishId,
  { target: { kind, names }, sendAtMs }: PublishRequest,
): PushTapEvent {
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  const target = `${kind}: ${names.slice(0, NAMES_SHOWN).join(', ')}${more}`;
  return { kind: 'published', publish, target, dueAtMs: sendAtMs };
}

function logTooMuchPending(
  { log, logThrottle }: EndpointContext,
  { id, limits }: PushInstance,
): void {
  logThrottle.run(`pending publishes of ${id}`, (throttled) =>
    log.warn('Publishes refused: unfinished publishes take too much space', {
      instance: id,
      setting: 'limits.pendingPublishBytes',
      limit: limits.pendingPublishBytes,
      ...throttled,
    }),
  );
}

function answerOf(acceptance: Acceptance, { limits }: PushInstance): PublishId | PushRefusal {
  switch (acceptance.result) {
    case 'accepted':
      return acceptance.id;
    case 'key-taken':
      return new PushRefusal(
        'unprocessable',
        '`Idempotency-Key`: another publish used it in the last 24 hours',
      );
    case 'over-plan':
      return new PushRefusal(
        'over-plan',
        `The instance has ${acceptance.devices} devices that a gateway has accepted, and its limit is ${limits.devices}`,
      );
    case 'too-much-pending':
      return new PushRefusal(
        'rate-limited',
        `Unfinished publishes of the instance have reached the limit of ${limits.pendingPublishBytes} bytes`,
        PENDING_RETRY_SECONDS,
      );
    default:
      return acceptance satisfies never;
  }
}
