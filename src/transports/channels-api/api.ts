import type { App } from '../../channels/app.ts';
import { EngineFailure, logFailure } from '../../channels/engine-failure.ts';
import type { Hub } from '../../channels/hub.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import type { SourceAnswer, SourceEvent } from '../../channels/sources/source-event.ts';
import { announcedLength, type BodyIntake, BodyRefusal } from '../body-intake.ts';
import { compressionIn, describeCompressed } from '../content-encoding.ts';
import { bytesOf, heldResponse } from '../held-response.ts';
import { decodeLeniently, type RequestTarget, withoutPrefix } from '../request-target.ts';
import { SMALL_ANSWER } from '../response-body.ts';
import type { UnreadAnswers } from '../unread-answers.ts';
import { type Authenticated, authenticate, refuseBody } from './authenticate.ts';
import type { Answer, ChannelsEndpoint } from './call.ts';
import { type OperatorSent, sendForOperator } from './events/operator-send.ts';
import { sendSourceEvents } from './events/source-events.ts';
import { refuseTrigger } from './events/trigger-rate.ts';
import { ApiRefusal, refuseRequest, statuses } from './problems.ts';
import { HistoryPages } from './queries/history-pages.ts';
import { Listings } from './queries/listings.ts';
import { parameterOf } from './query.ts';
import { type ApiExchange, type ApiMeter, ApiRefusals, type ApiSender } from './refusals.ts';
import { refuseQuery } from './refuse-usage.ts';
import { type ChannelsRoute, endpointOf, findRoute, methodsOf } from './routes.ts';

export interface ApiOptions {
  readonly hub: Hub;
  readonly apps: AppDirectory;
  readonly pathPrefix: string;
  readonly bodies: BodyIntake;
  readonly unread: UnreadAnswers;
  readonly meter: ApiMeter;
}

/** Made once: an object literal would be copied into new headers for each answer. */
const JSON_ANSWER = { headers: new Headers({ 'content-type': 'application/json' }) };
const NOTHING = new Uint8Array(0);

/** Bytes of an answer that cost as much as one query. */
const ANSWERED_PER_QUERY = 10_240;

/** The HTTP API for backends. Source: the seed; Channels protocol, §14. */
export class ChannelsApi {
  readonly histories: HistoryPages;
  private readonly hub: Hub;
  private readonly apps: AppDirectory;
  private readonly pathPrefix: string;
  private readonly bodies: BodyIntake;
  private readonly unread: UnreadAnswers;
  private readonly meter: ApiMeter;
  private readonly listings: Listings;
  private readonly refusals: ApiRefusals;
  private isStopped = false;

  constructor({ hub, apps, pathPrefix, bodies, unread, meter }: ApiOptions) {
    this.hub = hub;
    this.apps = apps;
    this.pathPrefix = pathPrefix;
    this.bodies = bodies;
    this.unread = unread;
    this.meter = meter;
    this.refusals = new ApiRefusals({ hub, apps, meter });
    this.listings = new Listings(hub);
    this.histories = new HistoryPages(hub);
  }

  /** Refuses all that is asked from now on. */
  stop(): void {
    this.isStopped = true;
  }

  /** Answers one request. Nothing of its body is read before its signature is checked. Never rejects. */
  answer(request: Request, target: RequestTarget, sender: ApiSender): MaybePromise<Response> {
    const path = withoutPrefix(target.path, this.pathPrefix);
    const exchange: ApiExchange = { request, path, sender };
    try {
      return this.handle(exchange, target);
    } catch (error) {
      return this.failed(exchange, error);
    }
  }

  /** Triggers an event for an operator: `json` is the body of `POST /events`. */
  send(appId: string, json: string): MaybePromise<OperatorSent | ApiRefusal> {
    const app = this.apps.byId(appId);
    if (app === undefined) return new ApiRefusal('not-found', `App ${appId} is not served yet`);
    return sendForOperator(this.hub, app, Buffer.from(json));
  }

  /** Triggers events that an application has committed. Begins none after `budgetMs`. */
  async sendSourceEvents(
    appId: string,
    events: readonly SourceEvent[],
    { budgetMs, nextTurn }: { readonly budgetMs: number; readonly nextTurn: () => Promise<void> },
  ): Promise<readonly SourceAnswer[]> {
    const { hub } = this;
    const app = this.apps.byId(appId);
    if (app === undefined) {
      const answer = { status: 404, text: `There is no app ${appId}` };
      return events.map(() => answer);
    }
    const endMs = hub.clock.now() + budgetMs;
    const isOver = () => hub.clock.now() > endMs;
    return await sendSourceEvents({ hub, app, isOver, nextTurn }, events);
  }

  /** What it returns does not reject. */
  private handle(exchange: ApiExchange, target: RequestTarget): MaybePromise<Response> {
    const { pathPrefix } = this;
    const { request, path } = exchange;
    const route = findRoute(path);
    if (route === undefined) return this.noSuchPath(exchange);
    const { method } = request;
    const endpoint = endpointOf(route, method);
    if (endpoint === undefined) {
      const allow = methodsOf(route).join(', ');
      const text = `405 METHOD NOT ALLOWED: use ${allow}\n`;
      return this.refusals.refuse(exchange, new ApiRefusal('wrong-method', text, { allow }));
    }
    const length = method === 'POST' ? announcedLength(request) : 0;
    const tooLarge = this.bodies.refuseLength(length);
    if (tooLarge !== undefined) return this.refusals.refuse(exchange, tooLarge, { closes: true });
    const known = authenticate(
      this.apps,
      {
        appId: route.appId === undefined ? undefined : decodeLeniently(route.appId),
        method,
        target,
        pathPrefix,
      },
      this.hub.clock.now(),
    );
    // Bun skips the body of a request that is answered before it arrives.
    if (known instanceof ApiRefusal)
      return this.refusals.refuseUnsigned(exchange, known, route.appId);
    const { app, parameters } = known;
    if (method !== 'POST') {
      return this.respond(exchange, () => this.ask(endpoint, route, known), app);
    }
    const over = this.refuseOverRate(route, app);
    if (over !== undefined) return this.refusals.refuse(exchange, over, { app });
    return this.bodies.read({ request, length, owner: app.id }, (body) => {
      if (body instanceof BodyRefusal)
        return this.refusals.refuse(exchange, body, { app, closes: true });
      const answer = () => refuseBody(parameters, body) ?? this.run(endpoint, route, known, body);
      return this.respond(exchange, answer, app);
    });
  }

  private ask(
    endpoint: ChannelsEndpoint,
    route: ChannelsRoute,
    known: Authenticated,
  ): MaybePromise<Answer> {
    const { app, parameters } = known;
    const refused =
      refuseBody(parameters, NOTHING) ??
      // Queries of a disabled app do not count.
      (app.enabled ? refuseQuery(this.hub.usage, app) : undefined);
    return refused ?? this.run(endpoint, route, known, NOTHING);
  }

  /** Called before the body is read, because reading it costs more than the signature. */
  private refuseOverRate({ isQuery }: ChannelsRoute, app: App): ApiRefusal | undefined {
    const { usage } = this.hub;
    if (!app.enabled) return undefined;
    return isQuery ? refuseQuery(usage, app) : refuseTrigger(usage, app);
  }

  private run(
    endpoint: ChannelsEndpoint,
    route: ChannelsRoute,
    { app, parameters }: Authenticated,
    body: Uint8Array,
  ): MaybePromise<Answer> {
    if (this.isStopped) return serverStops();
    if (!app.enabled) return new ApiRefusal('app-disabled', 'The app is disabled');
    return endpoint({
      hub: this.hub,
      listings: this.listings,
      histories: this.histories,
      app,
      key: parameterOf(parameters, 'auth_key'),
      parameters,
      body,
      channelText: decodeLeniently(route.channelText ?? ''),
      userId: decodeLeniently(route.userId ?? ''),
    });
  }

  /** Answers with what an endpoint returns, or with its failure. Makes a promise only if the endpoint has made one. */
  private respond(
    exchange: ApiExchange,
    ask: () => MaybePromise<Answer>,
    app: App,
  ): MaybePromise<Response> {
    try {
      const answer = ask();
      return answer instanceof Promise
        ? this.respondLater(exchange, answer, app)
        : this.responseTo(exchange, answer, app);
    } catch (error) {
      return this.failed(exchange, error);
    }
  }

  private async respondLater(
    exchange: ApiExchange,
    answer: Promise<Answer>,
    app: App,
  ): Promise<Response> {
    try {
      return this.responseTo(exchange, await answer, app);
    } catch (error) {
      return this.failed(exchange, error);
    }
  }

  private responseTo(exchange: ApiExchange, answer: Answer, app: App): Response {
    if (answer instanceof ApiRefusal) {
      return this.refusals.refuse(exchange, compressedOr(exchange.request, answer), { app });
    }
    if ('json' in answer) {
      const { json } = answer;
      if (json.length > SMALL_ANSWER) return this.respondAtLength(exchange, [json], app);
      if (json.length >= ANSWERED_PER_QUERY) this.charge(exchange, json.length, app);
      this.meter.count('requests', 1, '200');
      return new Response(json, JSON_ANSWER);
    }
    if ('parts' in answer) return this.respondAtLength(exchange, answer.parts, app);
    this.meter.count('requests', 1, `${answer.status}`);
    return new Response(null, { status: answer.status });
  }

  /** Sends an answer whose bytes belong to the app until the socket has taken them. */
  private respondAtLength(exchange: ApiExchange, parts: readonly string[], app: App): Response {
    if (exchange.request.method === 'HEAD') return this.respondWithLength(exchange, parts, app);
    this.charge(exchange, bytesOf(parts), app);
    const { headers } = JSON_ANSWER;
    const response = heldResponse(parts, {
      status: 200,
      headers,
      owner: app.id,
      unread: this.unread,
    });
    if (response === undefined) return this.refusals.refuse(exchange, unreadIsFull(), { app });
    this.meter.count('requests', 1, '200');
    return response;
  }

  /** The head of a long answer, of which no byte is kept. */
  private respondWithLength(exchange: ApiExchange, parts: readonly string[], app: App): Response {
    const bytes = bytesOf(parts);
    this.charge(exchange, bytes, app);
    this.meter.count('requests', 1, '200');
    const headers = new Headers(JSON_ANSWER.headers);
    headers.set('content-length', String(bytes));
    return new Response(null, { headers });
  }

  /** An answer to a query costs its size. That to a trigger is as long as the request at most. */
  private charge({ request }: ApiExchange, bytes: number, app: App): void {
    if (request.method === 'POST') return;
    this.hub.usage.chargeQueries(app, Math.floor(bytes / ANSWERED_PER_QUERY));
  }

  private failed({ request, path }: ApiExchange, error: unknown): Response {
    logFailure(this.hub.rateLimitedLog, error, {
      message: 'A request failed inside the server',
      whose: {},
      fields: { method: request.method, path },
    });
    if (!(error instanceof EngineFailure)) {
      this.meter.count('requests', 1, `${statuses.internal.status}`);
      return refuseRequest('internal', 'Internal server error');
    }
    this.meter.count('requests', 1, `${statuses['engine-failed'].status}`);
    const text = 'Server cannot answer now, try again';
    return refuseRequest('engine-failed', text, { 'retry-after': '1' });
  }

  private noSuchPath(exchange: ApiExchange): Response {
    const refusal = exchange.path.startsWith('/app/')
      ? new ApiRefusal('upgrade-required', 'This address is for WebSocket clients', {
          upgrade: 'websocket',
        })
      : new ApiRefusal('not-found', '404 NOT FOUND\n');
    return this.refusals.refuse(exchange, refusal);
  }
}

/** Names the compression of a body that was refused. Headers are only read here, because most triggers are accepted. */
function compressedOr({ method, headers }: Request, refusal: ApiRefusal): ApiRefusal {
  if (method !== 'POST') return refusal;
  if (refusal.problem !== 'invalid' && refusal.problem !== 'unauthenticated') return refusal;
  const compression = compressionIn(headers.get('content-encoding'));
  return compression === undefined
    ? refusal
    : new ApiRefusal('compressed-body', describeCompressed(compression), {
        'accept-encoding': 'identity',
      });
}

function serverStops(): ApiRefusal {
  return new ApiRefusal('stopping', 'Server is stopping, try again', { 'retry-after': '1' });
}

function unreadIsFull(): ApiRefusal {
  return new ApiRefusal('overloaded', 'Too many answers to this app are not read, try again', {
    'retry-after': '1',
  });
}
