import type { Hub } from '../hub.ts';
import { inBandProblems } from '../problems/problems.ts';
import { sendProblem } from '../problems/report-problem.ts';
import { unsigned } from '../signatures/unsigned.ts';
import { withoutData } from '../watching/tap.ts';
import {
  type ClientMessage,
  type ParsedChannelData,
  subscriptionError,
  USER_ID_LENGTH_MAX,
  USER_INFO_BYTES_MAX,
} from '../wire.ts';
import type { Session } from './session.ts';

export type SubscribeMessage = Extract<ClientMessage, { type: 'subscribe' }>;

/** Why a connection may not enter a channel. */
export interface Refusal {
  readonly problem:
    | 'subscription-unauthorised'
    | 'subscription-limit'
    | 'subscription-rate'
    | 'not-granted'
    | 'token-invalid'
    | 'connections-per-user';
  readonly message: string;
}

/** The subscription that was refused. */
type Refused = Pick<SubscribeMessage, 'channel'> & Partial<Pick<SubscribeMessage, 'channelData'>>;

export const unauthorised = (message: string): Refusal => ({
  problem: 'subscription-unauthorised',
  message,
});
export const limitReached = (message: string): Refusal => ({
  problem: 'subscription-limit',
  message,
});

export const serverFull = limitReached(
  'The server has reached its limit of subscriptions, and this app has the most of them',
);

export function tooOften({ app }: Session): Refusal {
  const { subscriptionsPerSecond } = app.limits;
  return {
    problem: 'subscription-rate',
    message: `Subscription rejected due to rate limit: at most ${subscriptionsPerSecond} per second`,
  };
}

/**
 * Reports a refused subscription: as a `pusher:error`, like the hosted service, and as a `pusher:subscription_error`,
 * which names the channel, so that pusher-js passes it to the channel's handlers.
 */
export function refuse(
  hub: Hub,
  session: Session,
  { channel, channelData }: Refused,
  refusal: Refusal,
): void {
  const reason = withoutData(refusal.message, channelData);
  hub.rateLimitedLog.info(
    'Subscription refused',
    { app: session.app.id },
    { connection: session.socketId, channel, why: unsigned(reason) },
  );
  sendProblem(hub, session, refusal);
  const { subscription, code, advice } = inBandProblems[refusal.problem];
  session.app.tap?.record({
    kind: 'refused',
    socket: session.socketId,
    user: session.user?.id,
    channel,
    data: channelData,
    code: code ?? undefined,
    reason,
    advice,
  });
  if (subscription === undefined || !hub.subscriptionErrors) return;
  const { type, status } = subscription;
  session.peer.send(subscriptionError(channel, { type, status, error: refusal.message }));
}

export function refusalOf(why: Exclude<ParsedChannelData, { ok: true }>['why']): Refusal {
  switch (why) {
    case 'not-an-object':
      return unauthorised('Invalid channel_data: it must be a string that holds a JSON object');
    case 'no-user-id':
      return unauthorised(
        'Invalid channel_data: user_id must be a string that is not empty, or a number',
      );
    case 'user-id-too-long':
      return limitReached(
        `Invalid channel_data: user_id may have at most ${USER_ID_LENGTH_MAX} characters`,
      );
    case 'user-info-not-an-object':
      return unauthorised(
        'user_info supplied to presence subscription is invalid - if supplied it must be a type of hash',
      );
    case 'user-info-too-large':
      return limitReached(
        `Invalid channel_data: user_info may have at most ${USER_INFO_BYTES_MAX} bytes`,
      );
    default:
      return why satisfies never;
  }
}
