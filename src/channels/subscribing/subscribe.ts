import type { App } from '../app.ts';
import {
  type ChannelName,
  describeBadChannelName,
  needsAuthorisation,
  parseChannelName,
} from '../channel-name.ts';
import { ask } from '../engine-failure.ts';
import type { Hub } from '../hub.ts';
import { after, type MaybePromise, undoIfFailed } from '../maybe-promise.ts';
import type { Member, Transition } from '../ports.ts';
import { inBandProblems } from '../problems.ts';
import { reportProblem } from '../report-problem.ts';
import { refuseSubscription } from '../signatures/authorise.ts';
import { signOut, userChannel } from '../users/sign-in.ts';
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
} from '../wire.ts';
import type { Session, Subscription } from './session.ts';

type SubscribeMessage = Extract<ClientMessage, { type: 'subscribe' }>;

/** Why a connection may not enter a channel. */
interface Refusal {
  readonly problem: 'subscription-unauthorised' | 'subscription-limit' | 'subscription-rate';
  readonly message: string;
}

const unauthorised = (message: string): Refusal => ({
  problem: 'subscription-unauthorised',
  message,
});
const limitReached = (message: string): Refusal => ({ problem: 'subscription-limit', message });

/** Why a connection that subscribes too often is refused. */
function tooOften({ app }: Session): Refusal {
  const { subscriptionsPerSecond } = app.limits;
  return {
    problem: 'subscription-rate',
    message: `Subscription rejected due to rate limit: at most ${subscriptionsPerSecond} per second`,
  };
}

/** Lets a connection into a channel, or tells it why not. The connection stays open either way. */
export function subscribe(
  hub: Hub,
  session: Session,
  message: SubscribeMessage,
): MaybePromise<void> {
  // Before anything that costs more than reading the message did.
  if (!session.mayAttempt()) return refuse(hub, session, message.channel, tooOften(session));
  if (session.subscription(message.channel) !== undefined) {
    // The first subscription stands, so its handlers must not be told of an error.
    return reportProblem(
      hub,
      session,
      'existing-subscription',
      `Existing subscription to channel ${message.channel}`,
    );
  }
  const parsed = parseChannelName(message.channel);
  if (!parsed.ok) {
    const why = describeBadChannelName(message.channel, parsed.why);
    return refuse(hub, session, message.channel, unauthorised(why));
  }
  const admitted = admit(session, parsed.channel, message);
  return 'message' in admitted
    ? refuse(hub, session, message.channel, admitted)
    : enter(hub, session, parsed.channel, admitted.member);
}

/** Everything that can be decided without asking who else is in the channel. */
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

  const { app, socketId } = session;
  const refused = refuseSubscription(app, socketId, channel, message.auth, message.channelData);
  if (refused !== undefined) return unauthorised(refused);
  if (channel.kind !== 'presence') return { member: undefined };

  if (message.channelData === undefined && session.user !== undefined) {
    // Who is signed in need not say again who they are. Source: §5.5.
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

/** Puts the connection into the channel, unless the roster finds it full. */
function enter(
  hub: Hub,
  session: Session,
  channel: ChannelName,
  member: Member | undefined,
): MaybePromise<void> {
  if (!makeRoom(hub, session.app)) {
    const why = 'The server has as many subscriptions as it may have, and this app most of them';
    return refuse(hub, session, channel.text, limitReached(why));
  }
  const shared = hub.channels.enter(session.app, channel);
  const joining: Subscription = { ...shared, member, state: 'joining' };
  session.add(joining);
  const notJoined = () => {
    session.remove(channel.text);
    hub.channels.leave(session.app, shared.topic);
  };
  const joined = undoIfFailed(
    () => ask('join', () => hub.roster.join(session.app, channel, member)),
    notJoined,
  );
  return after(joined, (transition) => {
    if (transition === 'full') {
      notJoined();
      const most = session.app.limits.presenceMembers;
      return refuse(
        hub,
        session,
        channel.text,
        limitReached(`Presence channel ${channel.text} is full: at most ${most} members`),
      );
    }
    if (session.closed) return leaveChannel(hub, session, joining);
    // Where something is still to come, it must be known from a later subscription to the same channel.
    const isAlike = member === undefined && !channel.cached;
    const subscription: Subscription = isAlike ? shared : { ...joining, state: 'joined' };
    session.replace(subscription);
    if (needsAuthorisation(channel)) session.authorised = true;
    return confirm(hub, session, subscription, transition);
  });
}

/** Makes room for one more subscription; `false` where the app itself would have to yield. */
function makeRoom(hub: Hub, app: App): boolean {
  let largest = hub.channels.whoYields(app);
  // What ended connections have not left yet still counts. Without this, more connections would end than are needed.
  while (largest !== undefined && hub.hastenDepartures()) largest = hub.channels.whoYields(app);
  if (largest === app.id) return false;
  if (largest !== undefined) hub.endConnectionOf(largest);
  return true;
}

function confirm(
  hub: Hub,
  session: Session,
  subscription: Subscription,
  transition: Transition,
): MaybePromise<void> {
  const { channel, topic, member } = subscription;
  // Before the newcomer listens: a member does not hear of itself.
  if (transition.memberAdded && member !== undefined) {
    hub.memberChanges.added(session.app, channel, member, session.peer);
  }
  hub.audience.join(session.peer, topic);
  hub.lifecycle.joined(session.app, channel, member, transition);
  const confirmed =
    member === undefined
      ? session.peer.send(subscriptionSucceeded(channel.text))
      : after(
          ask('members', () => hub.roster.members(session.app, channel)),
          (members) => {
            if (hasLeft(session, subscription)) return;
            session.peer.send(presenceSucceeded(channel.text, members));
          },
        );
  return after(confirmed, () => {
    const replayed = channel.cached ? replay(hub, session, subscription) : undefined;
    // The newcomer hears of the count too, and nothing of a channel before its confirmation.
    return after(replayed, () => hub.lifecycle.counted(session.app, channel, transition));
  });
}

/** Sends the last event of a cache channel, or says that there is none. Source: §10. */
function replay(hub: Hub, session: Session, subscription: Subscription): MaybePromise<void> {
  const { channel, topic } = subscription;
  return after(
    ask('get', () => hub.cache.get(topic)),
    (event) => {
      if (hasLeft(session, subscription)) return;
      if (event === undefined) {
        hub.lifecycle.cacheMissed(session.app, channel);
        session.peer.send(cacheMiss(channel.text));
      } else {
        hub.usage.charge(session.app, 1, 'clients');
        session.peer.send(eventMessage(event.name, channel.text, event.data));
      }
    },
  );
}

/** Whether a connection gave a subscription up while the engine was asked; it must hear no more of it. */
function hasLeft(session: Session, subscription: Subscription): boolean {
  return session.subscription(subscription.channel.text) !== subscription;
}

/** Takes a connection out of a channel; the client hears nothing of it, as the protocol has it. */
export function unsubscribe(hub: Hub, session: Session, channel: string): MaybePromise<void> {
  const subscription = session.subscription(channel);
  if (subscription?.state !== 'joined') {
    return reportProblem(
      hub,
      session,
      'no-subscription',
      `No current subscription to channel ${channel}, or subscription in progress`,
    );
  }
  return leaveChannel(hub, session, subscription);
}

/** Signs out a session whose connection has ended, and stops sending to it. `leaveChannel` for its channels comes next. */
export function disconnect(hub: Hub, session: Session): MaybePromise<void> {
  session.closed = true;
  hub.audience.leaveAll(session.peer);
  return signOut(hub, session);
}

/** The channels that a session whose connection has ended must leave. Those it is still joining it leaves by itself. */
export function channelsToLeave(session: Session): readonly Subscription[] {
  return session.subscriptions().filter(({ state }) => state === 'joined');
}

/** Takes a session out of a channel that it has joined. If the roster fails, all else is done. */
export function leaveChannel(
  hub: Hub,
  session: Session,
  subscription: Subscription,
): MaybePromise<void> {
  const { channel, topic, member } = subscription;
  session.remove(channel.text);
  hub.channels.leave(session.app, topic);
  if (!session.closed) hub.audience.leave(session.peer, topic);
  const left = ask('leave', () => hub.roster.leave(session.app, channel, member));
  return after(left, (transition) => {
    if (transition.memberRemoved && member !== undefined) {
      hub.memberChanges.removed(session.app, channel, member);
    }
    hub.lifecycle.left(session.app, channel, member, transition);
  });
}

/**
 * Tells a client that it is not in a channel: once as the hosted service does, and once more in a form
 * that names the channel, which pusher-js hands to the channel's own handlers.
 */
function refuse(hub: Hub, session: Session, channel: string, refusal: Refusal): void {
  hub.strangerLog.info(
    'Subscription refused',
    { app: session.app.id },
    { connection: session.socketId, channel, why: refusal.message },
  );
  reportProblem(hub, session, refusal.problem, refusal.message);
  const { subscription } = inBandProblems[refusal.problem];
  if (subscription === undefined || !hub.subscriptionErrors) return;
  const { type, status } = subscription;
  session.peer.send(subscriptionError(channel, type, status, refusal.message));
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
