import { type ChannelName, needsAuthorisation } from '../channel-name.ts';
import { askedOf } from '../grants/asked.ts';
import { ConnectionGrants } from '../grants/connection-grants.ts';
import type { Hub } from '../hub.ts';
import { after, type MaybePromise } from '../maybe-promise.ts';
import { readPresentedToken } from '../users/presented-user.ts';
import type { Session } from './session.ts';

/** Why a token lets nobody read: it is refused itself, or does not cover a channel. */
export type NotAdmitted =
  | { readonly why: string; readonly channel?: undefined }
  | { readonly channel: ChannelName };

/**
 * Takes the token by which a connection that is not open yet wants to read some channels, `undefined`: it covers all of them.
 * The connection hangs on it from then on. Unlike other clients with a token, it is not signed in: whoever only reads is nobody.
 */
export function admitReader(
  hub: Hub,
  session: Session,
  { token, channels }: { readonly token: string; readonly channels: readonly ChannelName[] },
): MaybePromise<NotAdmitted | undefined> {
  return after(readPresentedToken(hub, session, token), (read) => {
    if (!read.ok) return { why: read.why };
    const { grant, user } = read;
    const grants = new ConnectionGrants();
    session.grants = grants;
    grants.add(grant);
    grants.signedIn(grant);
    // Even if it is in public channels only, or in those that the setting opens to the user.
    grants.signedInBy = grant;
    const asked = { ...askedOf(hub, session), userId: user?.id };
    for (const channel of channels.filter(needsAuthorisation)) {
      const covering = grants.covering(channel, 'subscribe', asked);
      if (covering === undefined) return { channel };
      grants.enter(channel, covering);
    }
    return undefined;
  });
}
