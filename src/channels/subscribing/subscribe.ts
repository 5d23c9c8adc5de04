import type { App } from '../app.ts';
import {
  type ChannelName,
  describeBadChannelName,
  needsAuthorisation,
  parseChannelName,
  userChannel,
} from '../channel-name.ts';
import { ask } from '../engine-failure.ts';
import { ConnectionGrants } from '../grants/connection-grants.ts';
import {
  unitsOf,
  WAITING_DATA_BYTES_MAX,
  WAITING_MAX,
  type WaitingSubscription,
} from '../grants/waiting-subscription.ts';
import { type FoundHistory, type ResumePlace, resumeAnswer } from '../history/resume.ts';
import type { Hub } from '../hub.ts';
import { after, attempt, type MaybePromise, mapAll, undoIfFailed } from '../maybe-promise.ts';
import type { CachedEvent, Entered, Member } from '../ports.ts';
import { membersMaxOf, presenceRuleOf } from '../presence-rule.ts';
import { reportProblem } from '../problems/report-problem.ts';
import { refuseSubscription } from '../signatures/authorise.ts';
import { presentToken, signOut, unwatch } from '../users/sign-in.ts';
import {
  cacheMiss,
  eventIdIn,
  eventMessage,
  presenceSucceeded,
  readChannelData,
  subscriptionSucceeded,
  withEventId,
} from '../wire.ts';
import { admitByGrant, isByGrant, notGranted, type SubscriptionRequest } from './by-grant.ts';
import { chargeHistory, fittingHistory, historyRequest, sendHistory } from './catch-up.ts';
import type { Held } from './local-channels.ts';
import {
  limitReached,
  type Refusal,
  refusalOf,
  refuse,
  type SubscribeMessage,
  serverFull,
  tooOften,
  unauthorised,
} from './refusal.ts';
import type { Session, Subscription } from './session.ts';

/** Subscribes a connection to a channel, or reports why not. The connection stays open either way. */
export function subscribe(
  hub: Hub,
  session: Session,
  message: SubscribeMessage,
): MaybePromise<void> {
  // First, because everything below costs more.
  if (!session.mayAttempt()) return refuse(hub, session, message, tooOften(session));
  if (
    session.subscription(message.channel) !== undefined ||
    session.grants?.waiting.has(message.channel) === true
  ) {
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
  const { channel } = parsed;
  const tooMany = refuseAnother(session);
  if (tooMany !== undefined) return refuse(hub, session, message, tooMany);
  if (!isByGrant(session, channel, message)) {
    return enterAdmitted(hub, session, { channel, message }, admit(session, channel, message));
  }
  const { auth } = message;
  return auth === undefined
    ? enterByGrant(hub, session, { channel, message })
    : enterByToken(hub, session, { channel, message }, auth);
}

/** Apart from `subscribe`, which makes no functions for what needs no token. */
function enterByToken(
  hub: Hub,
  session: Session,
  request: SubscriptionRequest,
  token: string,
): MaybePromise<void> {
  return after(presentToken(hub, session, token), (refused) => {
    if (session.closed) return;
    if (refused === undefined) return enterByGrant(hub, session, request);
    refuse(hub, session, request.message, refused);
  });
}

/** Enters a connection into a channel that a grant covers, lets it wait for its sign-in, or reports why not. */
function enterByGrant(
  hub: Hub,
  session: Session,
  request: SubscriptionRequest,
): MaybePromise<void> {
  const admitted = admitByGrant(hub, session, request);
  if (admitted !== 'waits') return enterAdmitted(hub, session, request, admitted);
  const refused = waitForSignIn(hub, session, request);
  if (refused !== undefined) refuse(hub, session, request.message, refused);
}

function enterAdmitted(
  hub: Hub,
  session: Session,
  { channel, message }: SubscriptionRequest,
  admitted: Refusal | { readonly member: Member | undefined },
): MaybePromise<void> {
  return 'message' in admitted
    ? refuse(hub, session, message, admitted)
    : enter(hub, session, channel, { member: admitted.member, place: message.place });
}

/**
 * Enters a connection into a channel that its request was authorised for. In a presence channel it is no member: it gets the
 * members, and counts as a subscription only.
 */
export function enterAsReader(
  hub: Hub,
  session: Session,
  channel: ChannelName,
  place: ResumePlace,
): MaybePromise<void> {
  return enter(hub, session, channel, { member: undefined, place });
}

/** Tries the subscriptions of a connection that have waited for its sign-in, in their order. */
export function admitWaiting(hub: Hub, session: Session): MaybePromise<void> {
  const { grants } = session;
  const [next] = grants?.waiting.values() ?? [];
  if (grants === undefined || next === undefined || session.closed) return;
  stopWaiting(hub, session, next);
  const entered =
    session.user === undefined
      ? refuse(hub, session, next.message, notGranted(next.channel))
      : enterByGrant(hub, session, next);
  return after(entered, () => admitWaiting(hub, session));
}

/** Refuses the subscriptions of a connection that have waited for too long. */
export function refuseWaiting(hub: Hub, session: Session): void {
  // They are tried when the engine has answered.
  if (session.signingIn) return;
  const nowMs = hub.clock.now();
  for (const waiting of session.grants?.waiting.values() ?? []) {
    if (waiting.untilMs > nowMs) return;
    stopWaiting(hub, session, waiting);
    const seconds = hub.authorizationTimeoutSeconds;
    refuse(hub, session, waiting.message, {
      problem: 'not-granted',
      message: `Auth value for subscription to ${waiting.channel.text} is missing, and the connection has not signed in within ${seconds} s`,
    });
  }
}

/** Lets a subscription wait; returns why it must not. */
function waitForSignIn(
  hub: Hub,
  session: Session,
  { channel, message }: SubscriptionRequest,
): Refusal | undefined {
  session.grants ??= new ConnectionGrants();
  const { waiting } = session.grants;
  const missing = `Auth value for subscription to ${channel.text} is missing`;
  if (waiting.size >= WAITING_MAX) {
    const why = `${missing}, and ${WAITING_MAX} subscriptions wait for the sign-in already`;
    return { problem: 'not-granted', message: why };
  }
  if (Buffer.byteLength(message.channelData ?? '') > WAITING_DATA_BYTES_MAX) {
    const why = `${missing}, and its channel_data is too long to wait for the sign-in: ${WAITING_DATA_BYTES_MAX} bytes at most`;
    return { problem: 'not-granted', message: why };
  }
  if (!makeRoom(hub, session.app)) return serverFull;
  const units = unitsOf(message);
  const untilMs = hub.clock.now() + 1000 * hub.authorizationTimeoutSeconds;
  session.grants.wait({ channel, message, untilMs, units });
  hub.channels.reserve(session.app, units);
  return undefined;
}

function stopWaiting(hub: Hub, session: Session, { channel, units }: WaitingSubscription): void {
  if (session.grants?.stopWaiting(channel.text) !== true) return;
  hub.channels.release(session.app, units);
}

/** Why a connection may be in no further channel. */
function refuseAnother(session: Session): Refusal | undefined {
  const { channelsPerConnection } = session.app.limits;
  const count = session.subscriptionCount + (session.grants?.waiting.size ?? 0);
  return channelsPerConnection > 0 && count >= channelsPerConnection
    ? limitReached(
        `Too many subscriptions: a connection may be in ${channelsPerConnection} channels at most`,
      )
    : undefined;
}

/** Checks everything that does not depend on other subscribers. */
function admit(
  session: Session,
  channel: ChannelName,
  message: SubscribeMessage,
): Refusal | { readonly member: Member | undefined } {
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
    session.grants?.leave(channel.text);
    return refuse(hub, session, { channel: channel.text }, serverFull);
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
    const most = membersMaxOf(app, channel.text);
    const why = `Presence channel ${channel.text} is full: at most ${most} members`;
    refuse(hub, session, { channel: channel.text }, limitReached(why));
    // Statements of other connections on this loop, made meanwhile, have included this one.
    return stateHeld(hub, { app, subscription: joining, held });
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
function confirm(hub: Hub, session: Session, subscription: Subscription, entered: Entered): void {
  const { cached, history: found } = entered;
  const { channel, topic, member } = subscription;
  session.replace(subscription);
  if (member !== undefined) hub.members.add(topic, member.userId, session);
  if (needsAuthorisation(channel)) session.authorised = true;
  hub.audience.join(session.peer, topic);
  const history = found && fittingHistory(hub, session, found);
  const resume = history && resumeAnswer(history);
  answerWith(
    session,
    channel.kind === 'presence'
      ? presenceSucceeded(channel.text, entered, resume)
      : subscriptionSucceeded(channel.text, resume),
  );
  const { tap } = session.app;
  if (tap !== undefined) {
    tap.record({ kind: 'subscribed', ...whereOf(session, subscription), data: member?.userInfo });
  }
  const isCaughtUp = history !== undefined && sendHistory(hub, session, history);
  if (!channel.cached || (isCaughtUp && !lacks(cached, history))) return;
  if (cached === undefined) {
    tap?.record({ kind: 'cache-miss', ...whereOf(session, subscription) });
    session.peer.send(cacheMiss(channel.text));
  } else {
    hub.usage.charge(session.app, 1, 'clients');
    const frame = eventMessage(cached.name, channel.text, cached.data);
    answerWith(session, cached.id === undefined ? frame : withEventId(frame, cached.id));
  }
}

/** Whether a connection that has all events still lacks what the channel remembers: pieces of values are in no history. */
function lacks(cached: CachedEvent | undefined, { frames }: FoundHistory): boolean {
  if (cached?.value === undefined) return false;
  return cached.id === undefined || eventIdIn(frames.at(-1) ?? '') !== cached.id;
}

/** Sends a frame whose size does not depend on what the client has sent, and charges the connection for it. */
function answerWith(session: Session, frame: string): void {
  session.peer.send(frame);
  session.chargeAnswer(Buffer.byteLength(frame));
}

/** Unsubscribes a connection from a channel. The protocol has no confirmation for this. */
export function unsubscribe(hub: Hub, session: Session, channel: string): MaybePromise<void> {
  const waiting = session.grants?.waiting.get(channel);
  if (waiting !== undefined) return stopWaiting(hub, session, waiting);
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
  hub.tokenTurns.forget(session);
  if (session.grants !== undefined) {
    for (const waiting of session.grants.waiting.values()) stopWaiting(hub, session, waiting);
  }
  if (session.user === undefined) return;
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
  const graceSeconds = graceOf(hub, session, subscription, held);
  return stateHeld(hub, { app, subscription, held, graceSeconds });
}

/** For how many seconds a member stays that has left; `undefined`: not at all. */
function graceOf(
  hub: Hub,
  session: Session,
  { channel, member }: Subscription,
  { ofUser }: Held,
): number | undefined {
  // Whoever unsubscribes leaves on purpose.
  if (!session.closed || member === undefined || ofUser > 0 || session.endsForGood) return;
  const seconds = presenceRuleOf(session.app, channel.text)?.graceSeconds ?? 0;
  return seconds > 0 && hub.stays.take(session.app, seconds) ? seconds : undefined;
}

/** A channel that a connection has left. */
interface LeftChannel {
  readonly app: App;
  readonly subscription: Subscription;
  readonly held: Held;
  readonly graceSeconds?: number | undefined;
}

/** States this loop's remaining subscriptions to a channel that a connection has left. */
function stateHeld(
  hub: Hub,
  {
    app,
    subscription: { channel, member },
    held: { subscriptions, ofUser },
    graceSeconds,
  }: LeftChannel,
): MaybePromise<void> {
  const userId = ofUser === 0 ? member?.userId : undefined;
  const exit = { app, channel, held: subscriptions, userId, graceSeconds };
  return ask('leave', () => hub.authority.leave(exit));
}

/** Describes the subscriber for the app's live streams. */
function whereOf({ socketId, user }: Session, { channel, member }: Subscription) {
  return { socket: socketId, user: member?.userId ?? user?.id, channel: channel.text };
}
