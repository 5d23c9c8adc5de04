import type { App } from '../../channels/app.ts';
import { type ChannelName, needsAuthorisation } from '../../channels/channel-name.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { allowsOrigin } from '../../runtime/allowed-origins.ts';
import type { KeyUse } from '../../runtime/keys/key-uses.ts';
import { authenticate, expiryOf } from '../channels-api/authenticate.ts';
import { refuseExtraneous } from '../channels-api/extraneous.ts';
import { ApiRefusal, invalid } from '../channels-api/problems.ts';
import { readChannel } from '../channels-api/queries/query-channels.ts';
import { type Parameter, parameterOf, readQuery } from '../channels-api/query.ts';
import { Unauthenticated } from '../channels-api/unauthenticated.ts';
import { decodeLeniently, hasTooManyParameters, type RequestTarget } from '../request-target.ts';
import { type ReaderPlace, readPlaces, samePlaces } from './places.ts';

/** The most channels of one reader. */
const CHANNELS_MAX = 20;

/** The names in the path of a stream, still encoded. */
export interface StreamPath {
  readonly appId: string;
  /** `undefined`: the channels are in the query. */
  readonly channelText: string | undefined;
}

const PATH = /^\/apps\/([^/]+)\/(?:channels\/([^/]+)\/)?stream$/;

/** Reads the path of a request; `undefined` if it is not that of a stream. `path`: without the prefix of the server. */
export function readStreamPath(path: string): StreamPath | undefined {
  if (!path.endsWith('/stream')) return undefined;
  const [, appId, channelText] = PATH.exec(path) ?? [];
  return appId === undefined ? undefined : { appId, channelText };
}

/** What a request says before anything is decided. */
export interface StreamHead {
  readonly path: StreamPath;
  readonly target: RequestTarget;
  readonly headers: Headers;
  readonly pathPrefix: string;
}

/** What a request may read, and where it begins. */
export interface Reading {
  readonly app: App;
  /** The use of the key of the request. */
  readonly keyUse: KeyUse | undefined;
  readonly channels: readonly ChannelName[];
  /** One for each channel. */
  readonly places: readonly ReaderPlace[];
  /** Milliseconds since 1970; `Infinity`: never. */
  readonly expiresAtMs: number;
  /** Decides about channels that are not public; `undefined`: nothing is left to decide. */
  readonly token: string | undefined;
}

/** The app of a request, and its parameters as far as they are confirmed. */
interface Reader {
  readonly app: App;
  /** `undefined`: it has a token. */
  readonly key: string | undefined;
  readonly parameters: readonly Parameter[];
  readonly isSigned: boolean;
  readonly token?: string | undefined;
}

/** Decides what a request may read. One channel that it may not read refuses all. */
export function readStreamRequest(
  apps: AppDirectory,
  head: StreamHead,
  nowMs: number,
): Reading | ApiRefusal {
  const reader = identify(apps, head, nowMs);
  if (reader instanceof ApiRefusal) return reader;
  const { app, key, parameters, isSigned, token } = reader;
  const refused = refuseReader(reader, head);
  if (refused !== undefined) return refused;
  const channels = readChannels(head.path, parameters);
  if (channels instanceof ApiRefusal) return channels;
  const denied = refuseChannels(reader, channels);
  if (denied !== undefined) return denied;
  const places = placesOf(head.headers, parameters, channels.length);
  if (places instanceof ApiRefusal) return places;
  const expires = isSigned ? expiryOf(parameters) : undefined;
  return {
    app,
    keyUse: key === undefined ? undefined : app.keyUses?.of(key),
    channels,
    places,
    expiresAtMs: expires === undefined ? Number.POSITIVE_INFINITY : expires * 1000,
    token,
  };
}

function identify(apps: AppDirectory, head: StreamHead, nowMs: number): Reader | ApiRefusal {
  const { target, pathPrefix } = head;
  const appId = decodeLeniently(head.path.appId);
  const given = hasTooManyParameters(target.query) ? [] : readQuery(target.query);
  const key = parameterOf(given, 'key');
  const byToken = identifyByToken(apps, head, given);
  if (byToken !== undefined) return byToken;
  if (key === undefined || given.some(({ name }) => name.startsWith('auth_'))) {
    const signed = { appId, method: 'GET', target, pathPrefix, mayBePresigned: true };
    const known = authenticate(apps, signed, nowMs);
    if (known instanceof ApiRefusal) return known;
    const signedBy = parameterOf(known.parameters, 'auth_key') ?? '';
    return { ...known, key: signedBy, isSigned: true };
  }
  const app = apps.byKey(key);
  if (app === undefined) return new Unauthenticated('unknown-key', 'Unknown key');
  return app.id === appId
    ? { app, key, parameters: given, isSigned: false }
    : new Unauthenticated('key-of-another-app', 'Unknown key', app);
}

/** Only if there is nothing else, so that a header which others have added changes nothing. */
function identifyByToken(
  apps: AppDirectory,
  { path, headers }: StreamHead,
  given: readonly Parameter[],
): Reader | undefined {
  if (given.some(({ name }) => name === 'key' || name.startsWith('auth_'))) return undefined;
  const [, token] = /^bearer +([^ ]+) *$/i.exec(headers.get('authorization') ?? '') ?? [];
  if (token === undefined) return undefined;
  const app = apps.byId(decodeLeniently(path.appId));
  if (app?.grants === undefined) return undefined;
  return { app, key: undefined, parameters: given, isSigned: false, token };
}

/** Refuses a reader whatever it wants to read. */
function refuseReader(
  { app, key, parameters, isSigned }: Reader,
  { path, headers }: StreamHead,
): ApiRefusal | undefined {
  if (!app.enabled) return new ApiRefusal('app-disabled', 'The app is disabled');
  const origin = headers.get('origin');
  if (!isSigned && origin !== null && !allowsOrigin(app.allowedOrigins, origin)) {
    return new ApiRefusal('origin-not-allowed', 'Origin not allowed');
  }
  const known = ['after'];
  if (key !== undefined) known.push(isSigned ? 'expires' : 'key');
  if (path.channelText === undefined) known.push('channels');
  return refuseExtraneous(parameters.filter(({ name }) => !known.includes(name)));
}

function readChannels(
  { channelText }: StreamPath,
  parameters: readonly Parameter[],
): readonly ChannelName[] | ApiRefusal {
  if (channelText !== undefined) {
    const channel = readChannel(decodeLeniently(channelText));
    return channel instanceof ApiRefusal ? channel : [channel];
  }
  const names = (parameterOf(parameters, 'channels') ?? '').split(',', CHANNELS_MAX + 1);
  const isInRange = names.length <= CHANNELS_MAX && !names.includes('');
  if (!isInRange || new Set(names).size < names.length) {
    return invalid(`channels: must be 1 to ${CHANNELS_MAX} different names, separated by commas`);
  }
  const channels: ChannelName[] = [];
  for (const name of names) {
    const channel = readChannel(name);
    if (channel instanceof ApiRefusal) return channel;
    channels.push(channel);
  }
  return channels;
}

function refuseChannels(
  { app, isSigned, token }: Reader,
  channels: readonly ChannelName[],
): ApiRefusal | undefined {
  const { channelsPerConnection } = app.limits;
  if (channelsPerConnection > 0 && channels.length > channelsPerConnection) {
    return invalid(
      `Too many subscriptions: a connection may be in ${channelsPerConnection} channels at most`,
    );
  }
  const closed = channels.find(
    (channel) =>
      (needsAuthorisation(channel) && token === undefined) || channel.kind === 'server-to-user',
  );
  return isSigned || closed === undefined
    ? undefined
    : new Unauthenticated('unsigned', `${closed.text}: needs a signed URL`);
}

/** The header comes first: EventSource sends it when it comes back with the same URL. An error would end it for good. */
function placesOf(
  headers: Headers,
  parameters: readonly Parameter[],
  channels: number,
): readonly ReaderPlace[] | ApiRefusal {
  const lastId = headers.get('last-event-id') ?? '';
  if (lastId !== '') return readPlaces(lastId, channels) ?? samePlaces(channels, 'unknown');
  const given = parameterOf(parameters, 'after') ?? '';
  if (given === '') return samePlaces(channels, 'none');
  return readPlaces(given, channels) ?? invalid('after: must be the last id that was read');
}
