import type { App } from '../app.ts';
import {
  type ChannelName,
  describeBadChannelName,
  needsAuthorisation,
  parseChannelName,
} from '../channel-name.ts';
import { ask } from '../engine-failure.ts';
import { type ResumePlace, resumeAnswer } from '../history/resume.ts';
import type { Hub } from '../hub.ts';
import { after, attempt, type MaybePromise, mapAll, undoIfFailed } from '../maybe-promise.ts';
import type { Entered, Member } from '../ports.ts';
import { inBandProblems } from '../problems/problems.ts';
import { reportProblem, sendProblem } from '../problems/report-problem.ts';
import { refuseSubscription } from '../signatures/authorise.ts';
import { unsigned } from '../signatures/unsigned.ts';
import { signOut, unwatch, userChannel } from '../users/sign-in.ts';
import { withoutData } from '../watching/tap.ts';
import {
  type ClientMessage,
  cacheMiss,
  eventMessage,
  type ParsedChannelData,
  presenceSucceeded,
  readChannelData,
  subscriptionError,
  subscriptionSucceeded,
  USER_ID_LENGTH_MAX,
  USER_INFO_BYTES_MAX,
  withEventId,
} from '../wire.ts';
import { chargeHistory, fittingHistory, historyRequest, sendHistory } from './catch-up.ts';
import type { Held } from './local-channels.ts';
import type { Session, Subscription } from './session.ts';

type SubscribeMessage = Extract<ClientMessage, { type: 'subscribe' }>;

/** Why a connection may not enter a channel. */
interface Refusal {
  readonly problem: 'subscription-unauthorised' | 'subscription-limit' | 'subscription-rate';
  readonly message: string;
}

/** The subscription that was refused. */
type Refused = Pick<SubscribeMessage, 'channel'> & Partial<Pick<SubscribeMessage, 'channelData'>>;

const unauthorised = (message: string): Refusal => ({
  problem: 'subscription-unauthorised',
  message,
});
const limitReached = (message: string): Refusal => ({ problem: 'subscription-limit', message });

function tooOften({ app }: Session): Refusal {
  const { subscriptionsPerSecond } = app.limits;
  return {
    problem: 'subscription-rate',
    message: `Subscription rejected due to rate limit: at most ${subscriptionsPerSecond} per second`,
  };
}

/** Subscribes a connection to a channel, or reports why not. The connection stays open either way. */
export function subscribe(
  hub: Hub,
  session: Session,
  message: SubscribeMessage,
): MaybePromise<void> {
  // First, because everything below costs more.
  if (!session.mayAttempt()) return refuse(hub, session, message, tooOften(session));
  if (session.subscription(message.channel) !== undefined) {
    // Not `refuse`: the first subscription stays valid, so its handlers must not get an error.
    return reportProblem(hub, session, {
      problem: 'existing-subscription',
      message: `Existing subscription to channel ${message.channel}`,
    });
  }
  const parsed = parseChannelName(message.channel);
  if (!parsed.ok) {
    const why = describeBadChannelName(message.channel, parsed.why);
    return refuse(hub, session, message, unauthorised(why));
  }
  const admitted = admit(session, parsed.channel, message);
  return 'message' in admitted
    ? refuse(hub, session, message, admitted)
    : enter(hub, session, parsed.channel, { member: admitted.member, place: message.place });
}

/** Checks everything that does not depend on other subscribers. */
function admit(
  session: Session,
  channel: ChannelName,
  message: SubscribeMessage,
): Refusal | { readonly member: Member | undefined } {
  const { channelsPerConnection } = session.app.limits;
  if (channelsPerConnection > 0 && session.subscriptionCount >= channelsPerConnection) {
    return limitReached(
      `Too many subscriptions: a connection may be in ${channelsPerConnection} channels at most`,
    );
  }
  if (channel.kind === 'server-to-user') {
    const { user } = session;
    return user !== undefined && channel.text === userChannel(user.id)
      ? { member: undefined }
      : unauthorised(
          `Only a connection that is signed in as the user may subscribe to ${channel.text}`,
        );
  }
  if (!needsAuthorisation(channel)) return { member: undefined };

  const refused = refuseSubscription(session, channel, message);
  if (refused !== undefined) return unauthorised(refused);
  if (channel.kind !== 'presence') return { member: undefined };

  if (message.channelData === undefined && session.user !== undefined) {
    // A signed-in connection need not send `channel_data`. Source: §5.5.
    return { member: { userId: session.user.id, userInfo: session.user.userInfo } };
  }
  if (message.channelData === undefined) {
    return unauthorised(
      `Invalid channel_data for ${channel.text}: a presence channel needs the user_id of the subscriber`,
    );
  }
  const data = readChannelData(message.channelData);
  return data.ok ? { member: data.member } : refusalOf(data.why);
}

/** A connection that enters a channel, and the place after which it resumes. */
interface Newcomer {
  readonly member: Member | undefined;
  readonly place: ResumePlace | undefined;
}

/** Enters a connection into a channel, unless the authority answers that the channel is full. */
function enter(
  hub: Hub,
  session: Session,
  channel: ChannelName,
  { member, place }: Newcomer,
): MaybePromise<void> {
  if (!makeRoom(hub, session.app)) {
    const why =
      'The server has reached its limit of subscriptions, and this app has the most of them';
    return refuse(hub, session, { channel: channel.text }, limitReached(why));
  }
  const { app } = session;
  const { shared, subscriptions } = hub.channels.enter(app, channel, member);
  const { topic } = shared;
  const joining: Subscription = { channel, topic, member, state: 'joining' };
  session.add(joining);
  const notJoined = () => {
    session.remove(channel.text);
    return hub.channels.leave(app, topic, member);
  };
  // `hasLeft` must be able to distinguish a presence subscription from a later one.
  const subscription: Subscription =
    member === undefined ? shared : { channel, topic, member, state: 'joined' };
  if (place !== undefined) session.canResume = true;
  const history = historyRequest(hub, session, channel, place);
  let confirmed: { readonly outcome: MaybePromise<void> } | undefined;
  const entered = (found: Entered) => {
    if (session.closed) return;
    if (history && found.history) chargeHistory(session, channel, history, found.history);
    // An error in this callback is not the engine's failure.
    confirmed = { outcome: attempt(() => confirm(hub, session, subscription, found)) };
  };
  const entry = { app, channel, held: subscriptions, member, newcomer: session, history };
  const joined = undoIfFailed(
    () => ask('join', () => hub.authority.join(entry, entered)),
    () => void notJoined(),
  );
  return after(joined, (isIn) => {
    if (isIn)
      return confirmed === undefined ? leaveChannel(hub, session, joining) : confirmed.outcome;
    const held = notJoined();
    const most = app.limits.presenceMembers;
    const why = `Presence channel ${channel.text} is full: at most ${most} members`;
    refuse(hub, session, { channel: channel.text }, limitReached(why));
    // Statements of other connections on this loop, made meanwhile, have included this one.
    return stateHeld(hub, app, joining, held);
  });
}

/** Makes room for another subscription; `false` if the app itself would have to give one up. */
function makeRoom(hub: Hub, app: App): boolean {
  let largest = hub.channels.ownerToEvict(app);
  // Subscriptions of closed connections still count: leave those first, before closing another connection.
  while (largest !== undefined && hub.hastenDepartures()) largest = hub.channels.ownerToEvict(app);
  if (largest === app.id) return false;
  if (largest !== undefined) hub.endConnectionOf(largest);
  return true;
}

/**
 * Adds a connection to the audience of a channel: first the confirmation, then the last event of a cache channel.
 * Source: §10.
 */
function confirm(
  hub: Hub,
  session: Session,
  subscription: Subscription,
  { members, cached, history: found }: Entered,
): void {
  const { channel, topic, member } = subscription;
  session.replace(subscription);
  if (member !== undefined) hub.members.add(topic, member.userId, session);
  if (needsAuthorisation(channel)) session.authorised = true;
  hub.audience.join(session.peer, topic);
  const history = found && fittingHistory(hub, session, found);
  const resume = history && resumeAnswer(history);
  answerWith(
    session,
    member === undefined
      ? subscriptionSucceeded(channel.text, resume)
      : presenceSucceeded(channel.text, members, resume),
  );
  const { tap } = session.app;
  if (tap !== undefined) {
    tap.record({ kind: 'subscribed', ...whereOf(session, subscription), data: member?.userInfo });
  }
  const isCaughtUp = history !== undefined && sendHistory(hub, session, history);
  if (!channel.cached || isCaughtUp) return;
  if (cached === undefined) {
    tap?.record({ kind: 'cache-miss', ...whereOf(session, subscription) });
    session.peer.send(cacheMiss(channel.text));
  } else {
    hub.usage.charge(session.app, 1, 'clients');
    const frame = eventMessage(cached.name, channel.text, cached.data);
    answerWith(session, cached.id === undefined ? frame : withEventId(frame, cached.id));
  }
}

/** Sends a frame whose size does not depend on what the client has sent, and charges the connection for it. */
function answerWith(session: Session, frame: string): void {
  session.peer.send(frame);
  session.chargeAnswer(Buffer.byteLength(frame));
}

/** Unsubscribes a connection from a channel. The protocol has no confirmation for this. */
export function unsubscribe(hub: Hub, session: Session, channel: string): MaybePromise<void> {
  const subscription = session.subscription(channel);
  if (subscription?.state !== 'joined') {
    return reportProblem(hub, session, {
      problem: 'no-subscription',
      message: `No current subscription to channel ${channel}, or subscription in progress`,
    });
  }
  return leaveChannel(hub, session, subscription);
}

/**
 * Signs out a session whose connection has closed, and stops sending to it. `leaveChannel` for its channels comes
 * next.
 */
export function disconnect(hub: Hub, session: Session): MaybePromise<unknown> {
  session.closed = true;
  hub.audience.leaveAll(session.peer);
  if (session.user === undefined && session.watching.length === 0) return;
  return mapAll([unwatch, signOut], (step) => step(hub, session));
}

/**
 * Up to `limit` channels that a session must leave after its connection has closed. Subscriptions that are still joining
 * are undone when their answer comes.
 */
export function channelsToLeave(session: Session, limit: number): readonly Subscription[] {
  const joined: Subscription[] = [];
  for (const subscription of session.subscriptions()) {
    if (joined.length === limit) break;
    if (subscription.state === 'joined') joined.push(subscription);
  }
  return joined;
}

/** Removes a session from a channel that it has joined. Even if the authority fails, everything else is done. */
export function leaveChannel(
  hub: Hub,
  session: Session,
  subscription: Subscription,
): MaybePromise<void> {
  const { app } = session;
  const { channel, topic, member } = subscription;
  session.remove(channel.text);
  if (member !== undefined) hub.members.remove(topic, member.userId, session);
  if (app.tap !== undefined && subscription.state === 'joined') {
    app.tap.record({ kind: 'unsubscribed', ...whereOf(session, subscription) });
  }
  const held = hub.channels.leave(app, topic, member);
  if (!session.closed) hub.audience.leave(session.peer, topic);
  return stateHeld(hub, app, subscription, held);
}

/** States this loop's remaining subscriptions to a channel that a connection has left. */
function stateHeld(
  hub: Hub,
  app: App,
  { channel, member }: Subscription,
  { subscriptions, ofUser }: Held,
): MaybePromise<void> {
  const userId = ofUser === 0 ? member?.userId : undefined;
  return ask('leave', () => hub.authority.leave({ app, channel, held: subscriptions, userId }));
}

/**
 * Reports a refused subscription: as a `pusher:error`, like the hosted service, and as a `pusher:subscription_error`,
 * which names the channel, so that pusher-js passes it to the channel's handlers.
 */
function refuse(
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

/** Describes the subscriber for the app's live streams. */
function whereOf({ socketId, user }: Session, { channel, member }: Subscription) {
  return { socket: socketId, user: member?.userId ?? user?.id, channel: channel.text };
}

function refusalOf(why: Exclude<ParsedChannelData, { ok: true }>['why']): Refusal {
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
