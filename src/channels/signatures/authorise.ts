import { type App, secretOf } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import type { SocketId } from '../socket-id.ts';
import { sameSignature, sign } from './signature.ts';

/**
 * Checks the signature of the app's backend for a subscription. Returns `undefined` if it is right, else why not, in the
 * words of the hosted service, which people search for. Source: Channels protocol, §4 and §5.5.
 */
export function refuseSubscription(
  app: App,
  socketId: SocketId,
  channel: ChannelName,
  auth: string | undefined,
  channelData: string | undefined,
): string | undefined {
  const text =
    channelData === undefined
      ? `${socketId}:${channel.text}`
      : `${socketId}:${channel.text}:${channelData}`;
  return refuseSignature(app, text, auth, `subscription to ${channel.text}`, 'subscription');
}

/** Checks the signature of the app's backend for a sign-in. Returns `undefined` if it is right, else why not. */
export function refuseSignIn(
  app: App,
  socketId: SocketId,
  auth: string,
  userData: string,
): string | undefined {
  return refuseSignature(app, `${socketId}::user::${userData}`, auth, 'sign-in', 'sign-in');
}

function refuseSignature(
  app: App,
  text: string,
  auth: string | undefined,
  purpose: string,
  kind: string,
): string | undefined {
  const colon = auth?.indexOf(':') ?? -1;
  if (auth === undefined || colon < 1 || colon === auth.length - 1) {
    return `Auth value for ${purpose} is invalid: should be of format 'key:signature'`;
  }
  const key = auth.slice(0, colon);
  const signature = auth.slice(colon + 1);
  const secret = secretOf(app, key);
  if (secret === undefined) return `Invalid key in ${kind} auth data: '${key}'`;
  if (sameSignature(sign(secret, text), signature)) return undefined;
  return `Invalid signature: Expected HMAC SHA256 hex digest of ${text}, but got ${signature}`;
}
