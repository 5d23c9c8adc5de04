import { CryptoHasher } from 'bun';
import { isJsonObject } from '../../runtime/json-object.ts';
import type { KeySetKey } from '../../runtime/tokens/key-set.ts';
import type { App, AppGrants } from '../app.ts';
import { type ChannelName, needsAuthorisation, parseChannelName } from '../channel-name.ts';
import { nameOf, patternCovering } from '../grants/grant.ts';
import { patternsFor } from '../grants/read-patterns.ts';
import type { Revocations } from '../grants/revocations.ts';
import { parseSocketId } from '../socket-id.ts';
import { subscriptionTexts } from './authorise.ts';
import { sameSignature, sign } from './signature.ts';
import { type CheckedToken, isToken, readToken, unlessRevoked } from './token.ts';

/** The authorisation of a subscription as a client sent it. */
export interface ExaminedAuth {
  readonly channel: string;
  readonly socketId: string;
  readonly auth: string;
  readonly channelData?: string | undefined;
}

/** The key set of the issuer, for tokens. */
export interface ExaminedKeySet {
  readonly keys: readonly KeySetKey[] | undefined;
  /** Why it could not be fetched last. */
  readonly failure: { readonly why: string } | undefined;
  /** Why keys of it are not used. */
  readonly ignored: readonly string[];
}

export interface ExaminedSignature {
  readonly ok: boolean;
  /** The result, for the developer of the backend. */
  readonly text: string;
  /** The text to sign. */
  readonly signed: string;
}

/** When an authorisation is examined, and what is revoked then. */
export interface ExaminedNow {
  readonly nowSeconds: number;
  readonly revocations: Revocations;
  readonly keySet?: ExaminedKeySet | undefined;
}

/** A common mistake of backends, and the signature that results from it. */
interface Mistake {
  readonly text: string;
  readonly signature: string;
}

const PREFIXES = ['private-', 'presence-', 'private-encrypted-'] as const;

/**
 * Determines whether an authorisation is valid and, if not, which part is wrong, by trying common mistakes. Never
 * returns a secret or a signature.
 */
export function examineAuth(
  app: App,
  asked: ExaminedAuth,
  { nowSeconds, revocations, keySet }: ExaminedNow,
): ExaminedSignature {
  const channelData = asked.channelData === '' ? undefined : asked.channelData;
  const given = { ...asked, channelData };
  const { channel, socketId, auth } = given;
  const texts = subscriptionTexts(socketId, channel, channelData);
  const signed = signedText(given);
  const wrong = (text: string): ExaminedSignature => ({ ok: false, text, signed });
  const parsed = parseChannelName(channel);
  if (!parsed.ok) return wrong('The name of the channel is not valid.');
  if (parseSocketId(socketId) === undefined) {
    return wrong('The socket id is not valid: it must be like 123.456.');
  }
  if (!needsAuthorisation(parsed.channel)) {
    return wrong('This channel is public: subscriptions to it need no authorisation.');
  }
  const { grants } = app;
  if (grants !== undefined && isToken(app, auth)) {
    const { jwksUrl } = grants;
    const known = jwksUrl === null ? undefined : { url: jwksUrl, keys: keySet?.keys, version: 0 };
    const read = readToken({ ...app, grants, keySet: known }, auth, nowSeconds);
    const found = examineToken(grants, unlessRevoked(read, app.id, revocations), parsed.channel);
    const isAboutKeys = !read.ok && read.lacks !== undefined && keySet !== undefined;
    return isAboutKeys ? { ...found, text: `${found.text} ${describeKeySet(keySet)}` } : found;
  }
  const colon = auth.indexOf(':');
  if (colon < 1 || colon === auth.length - 1) {
    return wrong('`auth` must be KEY:SIGNATURE, with a colon between the two.');
  }
  const [key, signature] = [auth.slice(0, colon), auth.slice(colon + 1)];
  const secret = app.keys.find((pair) => pair.key === key)?.secret;
  if (secret === undefined) {
    const keys = app.keys.map((pair) => pair.key).join(', ');
    return wrong(
      app.keys.some((pair) => pair.secret === key)
        ? `The secret is used in place of the key, where everybody can see it: rotate it. The keys of this app are ${keys}.`
        : `The key ${JSON.stringify(key.slice(0, 100))} is not one of this app. Its keys are ${keys}.`,
    );
  }
  if (texts.some((text) => sameSignature(sign(secret, text), signature))) {
    return dataFault(parsed.channel.kind === 'presence', channelData, signed);
  }
  if (sameSignature(sign(secret, signed), signature.trim())) {
    return wrong('There is white space around the signature.');
  }
  const mistake = mistakes(app, given, secret).find((one) => one.signature === signature);
  if (mistake !== undefined) return wrong(mistake.text);
  return wrong(shapeFault(signature) ?? UNKNOWN);
}

const UNKNOWN =
  'The signature is another. Compare the text that your backend signs with the one that must be signed, byte by byte, and its secret with that of the key.';

function signedText({ socketId, channel, channelData }: Omit<ExaminedAuth, 'auth'>): string {
  return subscriptionTexts(socketId, channel, channelData)[0];
}

/** The signature is valid, but a presence channel also needs a member. */
function dataFault(
  isPresence: boolean,
  channelData: string | undefined,
  signed: string,
): ExaminedSignature {
  const right: ExaminedSignature = { ok: true, text: 'The authorisation is right.', signed };
  if (!isPresence) return right;
  const wrong = (text: string) => ({
    ok: false,
    text: `The signature is right, but ${text}`,
    signed,
  });
  if (channelData === undefined) return wrong('a presence channel needs `channel_data`.');
  const data = parsedJson(channelData);
  if (!isJsonObject(data)) return wrong('`channel_data` is not the JSON text of an object.');
  const userId = data['user_id'];
  const isId = (typeof userId === 'string' && userId !== '') || typeof userId === 'number';
  return isId ? right : wrong('`channel_data` has no `user_id`.');
}

/** Common mistakes, most likely first. */
function mistakes(app: App, given: ExaminedAuth, secret: string): readonly Mistake[] {
  const instead = (text: string, other: string): Mistake => ({
    text,
    signature: sign(secret, other),
  });
  return [
    ...otherSignatures(app, given, secret),
    ...otherTexts(given).map(([text, other]) => instead(text, other)),
  ];
}

/** Signatures of the right text that are made in another way. */
function otherSignatures(app: App, given: ExaminedAuth, secret: string): readonly Mistake[] {
  const signed = signedText(given);
  const key = given.auth.slice(0, given.auth.indexOf(':'));
  return [
    {
      text: 'The signature is right, but written in capital letters.',
      signature: sign(secret, signed).toUpperCase(),
    },
    {
      text: 'The signature is right, but in Base64: it must be hexadecimal, in lower case.',
      signature: Buffer.from(sign(secret, signed), 'hex').toString('base64'),
    },
    {
      text: 'It was signed with SHA-1 in place of SHA-256.',
      signature: new CryptoHasher('sha1', secret).update(signed).digest('hex'),
    },
    {
      text: 'It was signed with the key in place of the secret.',
      signature: sign(key, signed),
    },
    {
      text: 'It is a plain hash: it must be an HMAC with the secret as its key.',
      signature: new CryptoHasher('sha256').update(signed).digest('hex'),
    },
    ...app.keys
      .filter((pair) => pair.secret !== secret)
      .map((pair) => ({
        text: `It was signed with the secret of the key ${pair.key}, but names another key.`,
        signature: sign(pair.secret, signed),
      })),
  ];
}

type OtherText = readonly [mistake: string, signed: string];

/** Texts that a backend may have signed in place of the right one. */
function otherTexts(given: ExaminedAuth): readonly OtherText[] {
  const { channel, socketId, channelData } = given;
  const signed = signedText(given);
  const bare = `${socketId}:${channel}`;
  const named = (name: string) => signedText({ ...given, channel: name });
  return [
    ['The socket id is missing in what was signed.', channel],
    ['The socket id is missing in what was signed.', `:${signed.slice(socketId.length + 1)}`],
    ['Channel and socket id are signed in the wrong order.', `${channel}:${socketId}`],
    [
      'It was signed for a sign-in, not for a subscription.',
      `${socketId}::user::${channelData ?? ''}`,
    ],
    ['There is a line break at the end of what was signed.', `${signed}\n`],
    [
      'The name of the channel was percent-encoded before it was signed.',
      named(encodeURIComponent(channel)),
    ],
    ['The name of the channel was signed in lower case.', named(channel.toLowerCase())],
    ...otherChannels(channel).flatMap((name): readonly OtherText[] => [
      [`It was signed for the channel ${name}.`, named(name)],
      [`It was signed for the channel ${name}.`, `${socketId}:${name}`],
    ]),
    ...(channelData === undefined
      ? []
      : [
          ['`channel_data` was sent, but is missing in what was signed.', bare] as const,
          ...otherData(channelData).map(([text, data]) => [text, `${bare}:${data}`] as const),
        ]),
  ];
}

/** The channels whose names differ from this one only in their prefix. */
function otherChannels(channel: string): readonly string[] {
  const plain = channel.replace(/^(private-encrypted-|private-|presence-)/, '');
  return [plain, ...PREFIXES.map((prefix) => `${prefix}${plain}`)].filter(
    (name) => name !== channel,
  );
}

/** Other serializations of the same data: the signed and the sent text must be identical. */
function otherData(data: string): readonly (readonly [text: string, data: string])[] {
  const differs = '`channel_data` was signed as another text than the one that was sent';
  const found: (readonly [string, string])[] = [
    [`${differs}: with white space around it.`, data.trim()],
    [`${differs}: encoded as JSON twice.`, JSON.stringify(data)],
  ];
  const value = parsedJson(data);
  if (value === undefined) return found;
  const compact = JSON.stringify(value);
  const spaced = JSON.stringify(value, null, 1).replace(/\n */g, ' ');
  const ascii = (text: string) =>
    text.replace(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const escaped = `${differs}: letters or slashes are escaped in one of them only.`;
  found.push(
    [`${differs}: with other white space or another order of fields.`, compact],
    [`${differs}: with other white space.`, pythonJson(compact)],
    [`${differs}: with other white space.`, spaced],
    [escaped, ascii(compact)],
    [escaped, compact.replaceAll('/', '\\/')],
    [escaped, ascii(compact).replaceAll('/', '\\/')],
  );
  if (typeof value === 'string') found.push([`${differs}: encoded as JSON twice.`, value]);
  return found;
}

/** JSON as Python's `json.dumps` writes it. */
function pythonJson(compact: string): string {
  return compact.replace(/"(?:[^"\\]|\\.)*"|[:,]/g, (part) =>
    part.length === 1 ? `${part} ` : part,
  );
}

function shapeFault(signature: string): string | undefined {
  if (/^[0-9a-f]{64}$/.test(signature)) return undefined;
  if (/^[0-9a-f]{40}$/i.test(signature)) {
    return 'The signature has the length of SHA-1: it must be an HMAC with SHA-256.';
  }
  return `The signature must be 64 hexadecimal digits in lower case; this one has ${signature.length} characters.`;
}

/** Whether a token is valid, and lets its bearer into a channel. */
function examineToken(
  { channels }: AppGrants,
  read: CheckedToken,
  channel: ChannelName,
): ExaminedSignature {
  const said = (ok: boolean, text: string): ExaminedSignature => ({ ok, text, signed: '' });
  if (!read.ok) return said(false, `${read.why}.`);
  const { user, patterns } = read;
  if (channel.kind === 'presence' && user === undefined) {
    return said(false, 'The token is valid, but names no user, whom a presence channel needs.');
  }
  const ofUser = user === undefined ? [] : patternsFor(channels, user.id);
  const pattern = patternCovering([...patterns, ...ofUser], channel, 'subscribe');
  return pattern === undefined
    ? said(false, 'The token is valid, but none of its patterns covers the channel.')
    : said(true, `The token is valid, and its pattern ${nameOf(pattern)} covers the channel.`);
}

/** What an issuer's key set has. It is public, as opposed to what a token says. */
function describeKeySet({ keys, failure, ignored }: ExaminedKeySet): string {
  const found: string[] = [];
  if (failure !== undefined) found.push(`The key set cannot be fetched: ${failure.why}.`);
  if (keys?.length === 0) found.push('The key set has no key that can be used.');
  else if (keys !== undefined) {
    const shown = keys.slice(0, SHOWN_KEYS_MAX).map((key) => JSON.stringify(key.kid ?? null));
    const more = keys.length > SHOWN_KEYS_MAX ? ` and ${keys.length - SHOWN_KEYS_MAX} more` : '';
    found.push(`The key set has the kids ${shown.join(', ')}${more}.`);
  }
  if (ignored.length > 0) found.push(`Keys of it are ignored: ${ignored.join('; ')}.`);
  return found.join(' ');
}

const SHOWN_KEYS_MAX = 10;

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It is not JSON.
    return undefined;
  }
}
