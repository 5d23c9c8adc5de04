import type { Config } from '../../config/schema.ts';
import { hasTls } from '../../config/settings/has-tls.ts';
import { socketPath } from '../../runtime/listen-host.ts';
import { redactedUrl } from '../../runtime/logging/redact.ts';
import { AppStore } from '../../stores/tenants/app-store.ts';
import { appKind, completeTenants } from '../../tenants/tenant-kind.ts';
import type { Invocation } from '../invocation.ts';
import { openStore } from '../open-store.ts';
import { serverUrl } from '../options.ts';
import { UsageError } from '../output.ts';
import { isAnyPort, ownAddress } from '../own-address.ts';
import { readConfig } from '../read-config.ts';

/** What a command reads: channels of an app at the listener of clients. */
export interface Source {
  /** Without a path at its end, but with the prefix of the server. */
  readonly url: string;
  readonly unix: string | undefined;
  /** The address without secrets. */
  readonly shown: string;
  readonly app: string;
  readonly channels: readonly string[];
  readonly key: string;
  readonly secret: string;
}

/**
 * The server and the key of `--url` and the environment, or of the configuration and its store. `undefined`: the configuration cannot
 * be used. Throws `UsageError`.
 */
export async function sourceOf(
  invocation: Invocation,
  wanted: Pick<Source, 'app' | 'channels'>,
): Promise<Source | undefined> {
  const url = serverUrl(invocation.given, 'https://ws.example.com');
  const { FANFARE_APP_KEY: key, FANFARE_APP_SECRET: secret } = process.env;
  if (url !== undefined && key !== undefined && secret !== undefined) {
    return { ...wanted, key, secret, url, unix: undefined, shown: redactedUrl(url) };
  }
  const config = readConfig(invocation);
  if (config === undefined) return undefined;
  const known = await keyOf(config, wanted.app);
  if (url !== undefined) {
    return { ...wanted, ...known, url, unix: undefined, shown: redactedUrl(url) };
  }
  const { channels } = config;
  if (isAnyPort(channels)) {
    throw new UsageError('channels.port is 0, so the server may be at any port: give its --url');
  }
  const unix = socketPath(channels.host);
  const own =
    unix === undefined ? ownAddress({ ...channels, tls: hasTls(config) }) : 'http://localhost';
  const shown = unix === undefined ? own : `unix:${unix}`;
  return { ...wanted, ...known, url: own + channels.pathPrefix, unix, shown };
}

/** The URL of a stream, signed now. `after`: the place to begin at. */
export async function streamUrl(source: Source, after: string | undefined): Promise<string> {
  // Loaded only here: a server starts faster without it.
  const { signedTarget } = await import('../../doctor/client/signed-request.ts');
  const { app, channels, url } = source;
  const [only = ''] = channels;
  const ofApp = `/apps/${encodeURIComponent(app)}`;
  const path =
    channels.length === 1
      ? `${ofApp}/channels/${encodeURIComponent(only)}/stream`
      : `${ofApp}/stream`;
  const query = {
    ...(after === undefined ? {} : { after }),
    ...(channels.length === 1 ? {} : { channels: channels.join(',') }),
  };
  const { origin, pathname } = new URL(url);
  const prefix = pathname.replace(/\/+$/, '');
  return `${origin}${signedTarget(source, { method: 'GET', path, query }, prefix, Date.now())}`;
}

async function keyOf(config: Config, id: string): Promise<Pick<Source, 'key' | 'secret'>> {
  await using database = await openStore(config);
  const configured = appKind.configured(config);
  const stored = await new AppStore(database).list();
  const { served } = completeTenants(appKind, { stored, configured });
  const app = [...configured, ...served].find((one) => one.id === id);
  const [known] = app?.keys ?? [];
  if (known === undefined) throw new UsageError(`there is no app ${id}; see: fanfare apps list`);
  return known;
}
