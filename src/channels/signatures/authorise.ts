import { type App, secretOf } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import type { SocketId } from '../socket-id.ts';
import { sameSignature, sign } from './signature.ts';

/** The connection that a signature was made for. */
interface Applicant {
  readonly app: App;
  readonly socketId: SocketId;
}

interface SignedSubscription {
  readonly auth: string | undefined;
  /** `undefined`: absent, null or empty. */
  readonly channelData: string | undefined;
}

/**
 * The texts that a backend may sign for a subscription, the usual one first. Without `channel_data`, some backends sign an
 * empty third part.
 */
export function subscriptionTexts(
  socketId: string,
  channel: string,
  channelData: string | undefined,
): readonly [usual: string, ...others: string[]] {
  const text = `${socketId}:${channel}`;
  return channelData === undefined ? [text, `${text}:`] : [`${text}:${channelData}`];
}

/**
 * Verifies the backend's signature for a subscription. Returns `undefined` if it is valid, otherwise the reason in
 * the words of the hosted service, which people search for. Source: Channels protocol, §4 and §5.5.
 */
export function refuseSubscription(
  { app, socketId }: Applicant,
  channel: ChannelName,
  { auth, channelData }: SignedSubscription,
): string | undefined {
  const texts = subscriptionTexts(socketId, channel.text, channelData);
  const purpose = `subscription to ${channel.text}`;
  return refuseSignature(app, auth, { texts, purpose, kind: 'subscription' });
}

/** Verifies the backend's signature for a sign-in. Returns `undefined` if it is valid, otherwise the reason. */
export function refuseSignIn(
  { app, socketId }: Applicant,
  { auth, userData }: { readonly auth: string; readonly userData: string },
): string | undefined {
  const texts = [`${socketId}::user::${userData}`];
  return refuseSignature(app, auth, { texts, purpose: 'sign-in', kind: 'sign-in' });
}

interface Signed {
  /** One of them must be signed. Errors name the first. */
  readonly texts: readonly string[];
  /** For the error texts. */
  readonly purpose: string;
  readonly kind: string;
}

function refuseSignature(
  app: App,
  auth: string | undefined,
  { texts, purpose, kind }: Signed,
): string | undefined {
  const colon = auth?.indexOf(':') ?? -1;
  if (auth === undefined || colon < 1 || colon === auth.length - 1) {
    return `Auth value for ${purpose} is invalid: should be of format 'key:signature'`;
  }
  const key = auth.slice(0, colon);
  const signature = auth.slice(colon + 1);
  const secret = secretOf(app, key);
  if (secret === undefined) return `Invalid key in ${kind} auth data: '${key}'`;
  if (texts.some((text) => sameSignature(sign(secret, text), signature))) {
    app.keyUses?.of(key)?.note('signature');
    return undefined;
  }
  return `Invalid signature: Expected HMAC SHA256 hex digest of ${texts[0]}, but got ${signature}`;
}
