import { type ChannelName, needsAuthorisation } from '../channel-name.ts';
import { askedOf } from '../grants/asked.ts';
import { ConnectionGrants } from '../grants/connection-grants.ts';
import type { Hub } from '../hub.ts';
import type { Member } from '../ports.ts';
import { isToken } from '../signatures/token.ts';
import { readChannelData, type UserData } from '../wire.ts';
import { type Refusal, refusalOf, type SubscribeMessage, unauthorised } from './refusal.ts';
import type { Session } from './session.ts';

/** What a client asks for, and the channel that it names. */
export interface SubscriptionRequest {
  readonly channel: ChannelName;
  readonly message: SubscribeMessage;
}

/** Whether a grant decides about a subscription, and not a signature. Source: identity, §3.3. */
export function isByGrant(
  { app }: Session,
  channel: ChannelName,
  { auth }: SubscribeMessage,
): boolean {
  if (app.grants === undefined || !needsAuthorisation(channel)) return false;
  return auth === undefined || isToken(app, auth);
}

/** Decides by the grants of a connection, and of the app. */
export function admitByGrant(
  hub: Hub,
  session: Session,
  { channel, message }: SubscriptionRequest,
): Refusal | { readonly member: Member | undefined } | 'waits' {
  const { user, app } = session;
  const setting = app.grants;
  if (setting === undefined) return notGranted(channel);
  session.grants ??= new ConnectionGrants();
  const grant = session.grants.covering(channel, 'subscribe', askedOf(hub, session));
  const isPresence = channel.kind === 'presence';
  if (grant === undefined || (isPresence && user === undefined)) {
    if (user === undefined && message.auth === undefined) return 'waits';
    if (grant === undefined) return notGranted(channel);
    const why = `Invalid token: the claim \`${setting.userClaim}\` must be a user id, which a presence channel needs`;
    return { problem: 'token-invalid', message: why };
  }
  const member = isPresence && user !== undefined ? memberOf(user, message) : undefined;
  if (member !== undefined && 'message' in member) return member;
  session.grants.enter(channel, grant);
  return { member };
}

/** The member is the user of the grant. `channel_data`, without which some libraries cannot subscribe, proves nothing here. */
function memberOf(user: UserData, { channelData }: SubscribeMessage): Refusal | Member {
  if (channelData !== undefined) {
    const data = readChannelData(channelData);
    if (!data.ok) return refusalOf(data.why);
    if (data.member.userId !== user.id) {
      return unauthorised(
        `Invalid channel_data: user_id must be ${user.id}, the user of the grant`,
      );
    }
  }
  return { userId: user.id, userInfo: user.userInfo };
}

export function notGranted(channel: ChannelName): Refusal {
  const message = `No grant of this connection covers ${channel.text}`;
  return { problem: 'not-granted', message };
}
