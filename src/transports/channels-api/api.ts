import type { SocketAddress } from 'bun';
import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import { after, type MaybePromise } from '../../channels/maybe-promise.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { decodeLeniently, type RequestTarget, withoutPrefix } from '../request-target.ts';
import { authenticate } from './authenticate.ts';
import type { Answer, Endpoint } from './call.ts';
import { overQuota } from './over-quota.ts';
import { Refusal, refuseRequest } from './problems.ts';
import { readBody } from './read-body.ts';
import { findRoute, type Route } from './routes.ts';

export interface ApiSettings {
  readonly pathPrefix: string;
  readonly requestBytes: number;
}

/** Who sent a request; asked for only where a line of the log needs it. */
type Sender = () => SocketAddress | null;

/** Counts requests by the status of their answers. */
interface ApiMeter {
  count(counter: 'requests', by: number, status: string): void;
}

/** Ends every connection of an app that is signed in as the user. */
type Terminate = (app: App, userId: string) => void;

/** Made once: an object literal would be read into new headers with each answer. */
const JSON_ANSWER = { headers: new Headers({ 'content-type': 'application/json' }) };
const NOTHING = new Uint8Array(0);

/** The API that backends call. Source: the seed; Channels protocol, §14. */
export class ChannelsApi {
  private readonly hub: Hub;
  private readonly apps: AppDirectory;
  private readonly settings: ApiSettings;
  private readonly meter: ApiMeter;
  private readonly terminate: Terminate;

  constructor(
    hub: Hub,
    apps: AppDirectory,
    settings: ApiSettings,
    meter: ApiMeter,
    terminate: Terminate,
  ) {
    this.hub = hub;
    this.apps = apps;
    this.settings = settings;
    this.meter = meter;
    this.terminate = terminate;
  }

  /** Answers one request; waits for nothing but its body. */
  answer(request: Request, target: RequestTarget, sender: Sender): MaybePromise<Response> {
    const path = withoutPrefix(target.path, this.settings.pathPrefix);
    const route = findRoute(path);
    if (route === undefined) return this.noSuchPath(request, path, sender);
    const { method } = request;
    const endpoint = method === 'GET' || method === 'POST' ? route.endpoints[method] : undefined;
    if (endpoint === undefined) {
      const allow = Object.keys(route.endpoints).join(', ');
      const refusal = new Refusal('wrong-method', `405 METHOD NOT ALLOWED: use ${allow}\n`);
      return this.refuse(request, path, sender, refusal, { allow });
    }
    const body = method === 'GET' ? NOTHING : readBody(request, this.settings.requestBytes);
    return after(body, (read) => {
      if (read instanceof Refusal) {
        return this.refuse(request, path, sender, read, { connection: 'close' });
      }
      return this.respond(request, path, sender, this.call(request, target, route, endpoint, read));
    });
  }

  private call(
    request: Request,
    target: RequestTarget,
    route: Route,
    endpoint: Endpoint,
    body: Uint8Array,
  ): MaybePromise<Answer> {
    const { pathPrefix } = this.settings;
    const known = authenticate(
      this.apps,
      route.appId === undefined ? undefined : decodeLeniently(route.appId),
      { method: request.method, target, pathPrefix, body },
      this.hub.clock.now(),
    );
    if (known instanceof Refusal) return known;
    const { app, parameters } = known;
    if (!app.enabled) return new Refusal('app-disabled', 'The app is disabled');
    // Triggers count by their events; see there.
    if (request.method === 'GET' && !this.hub.usage.take(app, 1)) return overQuota(app);
    return endpoint({
      hub: this.hub,
      app,
      parameters,
      body,
      channelText: decodeLeniently(route.channelText ?? ''),
      userId: decodeLeniently(route.userId ?? ''),
      terminate: (userId) => this.terminate(app, userId),
    });
  }

  private respond(
    request: Request,
    path: string,
    sender: Sender,
    answer: MaybePromise<Answer>,
  ): MaybePromise<Response> {
    return after(answer, (given) => {
      if (given instanceof Refusal) return this.refuse(request, path, sender, given);
      if ('json' in given) {
        this.meter.count('requests', 1, '200');
        return new Response(given.json, JSON_ANSWER);
      }
      this.meter.count('requests', 1, String(given.status));
      return new Response(null, { status: given.status });
    });
  }

  private noSuchPath(request: Request, path: string, sender: Sender): Response {
    const refusal = path.startsWith('/app/')
      ? new Refusal('upgrade-required', 'This address is for WebSocket clients')
      : new Refusal('not-found', '404 NOT FOUND\n');
    const headers = refusal.problem === 'upgrade-required' ? { upgrade: 'websocket' } : undefined;
    return this.refuse(request, path, sender, refusal, headers);
  }

  private refuse(
    request: Request,
    path: string,
    sender: Sender,
    { problem, text, headers: own }: Refusal,
    headers = own,
  ): Response {
    const response = refuseRequest(problem, text, headers);
    this.meter.count('requests', 1, String(response.status));
    this.hub.log.info('Request refused', {
      address: sender()?.address,
      method: request.method,
      path,
      status: response.status,
      why: text,
    });
    return response;
  }
}
