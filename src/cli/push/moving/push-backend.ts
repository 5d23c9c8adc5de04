import { hasTls } from '../../../config/settings/has-tls.ts';
import { socketPath } from '../../../runtime/listen-host.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { pause } from '../../../runtime/time/pause.ts';
import { StoredInstances } from '../../../stores/tenants/instance-store.ts';
import type { Invocation } from '../../invocation.ts';
import { openStore } from '../../open-store.ts';
import { serverUrl } from '../../options.ts';
import { UsageError } from '../../output.ts';
import { ownAddress } from '../../own-address.ts';
import { readConfig } from '../../read-config.ts';
import { secretOf } from '../../secret-option.ts';
import { openServer, parsed } from '../../server-request.ts';

/** A request of 1,000 devices may wait for those of others. */
const TIMEOUT_MS = 60_000;

/** How often a request is repeated that the server has refused for now, or not answered. */
const REPEATS_MAX = 20;

/** The longest pause that a server asks for. */
const PAUSE_SECONDS_MAX = 600;

/** The pause before that, if the server asks for none. */
const PAUSE_MS = 1_000;

interface Target {
  readonly url: string;
  readonly unix?: string;
  readonly instance: string;
  readonly secretKey: string;
}

/** The calls of the push listener that take a secret key of an instance. */
export class PushBackend {
  readonly instance: string;
  private readonly target: Target;

  constructor(target: Target) {
    this.target = target;
    this.instance = target.instance;
  }

  /** Publishes, and returns the answer. */
  async publish(body: string): Promise<Record<string, unknown>> {
    return await this.call('POST', '/publish_api', '/publishes/interests', body);
  }

  /** A call about devices, below the path of the instance. */
  async ask(method: string, path: string, body?: string): Promise<Record<string, unknown>> {
    return await this.call(method, '/customer_api', path, body);
  }

  /**
   * Sends a request below the path of the instance, and returns the parsed answer. Repeats it while the server says that
   * it has no room now: all of these requests may be repeated. Throws an error with what the server says.
   */
  private async call(
    method: string,
    api: string,
    path: string,
    body?: string,
  ): Promise<Record<string, unknown>> {
    const { url, instance } = this.target;
    const whole = `${url}${api}/v1/instances/${encodeURIComponent(instance)}${path}`;
    for (let repeats = 0; ; repeats++) {
      const response = await this.send(method, whole, body);
      const text = await response.text();
      if (response.ok) {
        const answer = parsed(text);
        if (answer instanceof Object) return answer as Record<string, unknown>;
        throw new Error(`${this.shown} answers like another program: no JSON`);
      }
      const mayRepeat = response.status === 429 || response.status === 503;
      if (!mayRepeat || repeats >= REPEATS_MAX) throw new Error(this.faultOf(response, text));
      await pause(monotonicTimers, pauseOf(response));
    }
  }

  private get shown(): string {
    return this.target.unix === undefined ? this.target.url : `unix:${this.target.unix}`;
  }

  private async send(method: string, url: string, body: string | undefined): Promise<Response> {
    const { unix, secretKey } = this.target;
    return await openServer(url, {
      method,
      headers: {
        authorization: `Bearer ${secretKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      ...(unix === undefined ? {} : { unix }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      shown: this.shown,
      hint: 'Is the server running? Check --url: it must be the push listener.',
    });
  }

  private faultOf({ status }: Response, text: string): string {
    const answer = parsed(text);
    const said = answer instanceof Object ? Reflect.get(answer, 'description') : undefined;
    return `${this.shown} refuses with ${status}: ${typeof said === 'string' ? said : text.slice(0, 200)}`;
  }
}

function pauseOf(response: Response): number {
  const seconds = Number(response.headers.get('retry-after'));
  return seconds > 0 && seconds <= PAUSE_SECONDS_MAX ? seconds * 1000 : PAUSE_MS;
}

/** The push listener and the key that options, the configuration and the store name. `undefined`: the configuration cannot be used. */
export async function pushBackendOf(
  invocation: Invocation,
  instanceId: string,
): Promise<PushBackend | undefined> {
  const { given } = invocation;
  const instance = instanceId.toLowerCase();
  const givenUrl = serverUrl(given, 'http://127.0.0.1:6002');
  const givenKey = secretOf(given, 'secret-key');
  if (givenUrl !== undefined && givenKey !== undefined) {
    return new PushBackend({ url: givenUrl, instance, secretKey: givenKey });
  }
  const config = readConfig(invocation);
  if (config === undefined) return undefined;
  const { push } = config;
  const unix = givenUrl === undefined ? socketPath(push.host) : undefined;
  if (givenUrl === undefined && unix === undefined && push.port === 0) {
    throw new UsageError('push.port is 0, so the server may be at any port: give its --url');
  }
  const own =
    unix === undefined ? ownAddress({ ...push, tls: hasTls(config) }) : 'http://localhost';
  const known = push.instances?.find(({ id }) => id === instance);
  const secretKey = givenKey ?? known?.secretKeys[0] ?? (await storedKey(config, instance));
  if (secretKey === undefined) {
    throw new UsageError(
      `neither the configuration nor its store knows the instance ${instance}; see: fanfare instances list`,
    );
  }
  return new PushBackend({
    url: givenUrl ?? own + push.pathPrefix,
    ...(unix === undefined ? {} : { unix }),
    instance,
    secretKey,
  });
}

async function storedKey(
  config: Parameters<typeof openStore>[0],
  instance: string,
): Promise<string | undefined> {
  await using database = await openStore(config);
  const found = await new StoredInstances(database).get(instance);
  return found?.secretKeys[0];
}
