import type { IncomingMessage, ServerResponse } from 'node:http';
import { PushRefusal } from '../../../push/refusal.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import { type PushBounds, QUERY_PARAMETERS_MAX } from '../bounds.ts';
import {
  bodyBytesMax,
  costOf,
  type Endpoint,
  type Endpoints,
  type PushAnswer,
  type PushHead,
} from '../call.ts';
import { corsOf, preflightOf } from '../cors.ts';
import { statuses } from '../problems.ts';
import { findRoute, type PushFamily, pathForLog } from '../routes.ts';
import type { Connection, Receiving } from './connection.ts';
import type { RefusalLog } from './refusal-log.ts';
import { bodyOf, headersOf, JSON_TYPE } from './refusal-response.ts';
import { RequestCall } from './request-call.ts';
import type { Place, PooledRequest, RequestPool } from './request-pool.ts';
import type { RequestScheduler, WaitingRequest } from './request-scheduler.ts';

/** Counts answers. `status` is one of `problems.ts`, 200 or 204. */
export interface PushMeter {
  count(counter: 'pushRequests', by: number, family: PushFamily, status: string): void;
}

/** What all requests of a listener share. */
export interface RequestContext {
  readonly bounds: PushBounds;
  readonly proxies: TrustedProxies;
  /** Requests with the secret key of an instance, by its number. */
  readonly backends: RequestPool<number>;
  /** All others, by the address of the client. */
  readonly anonymous: RequestPool<string>;
  readonly backendScheduler: RequestScheduler<number>;
  readonly anonymousScheduler: RequestScheduler<string>;
  /** A backend has asked: others wait a little longer for a moment. */
  heardBackend(): void;
  /** Requests whose bodies are on their way. */
  readonly receiving: Set<RequestHandler>;
  readonly log: Log;
  readonly refusals: RefusalLog;
  readonly meter: PushMeter;
  /** A client, or an instance, has so many requests or bytes under way that one was refused. */
  crowded(client: Pick<PushHead, 'address' | 'addressKey'>, instance: number | undefined): void;
  /** `undefined` while the server starts. */
  readonly endpoints: Endpoints | undefined;
  /** Refuses a client without a secret key that asks too often. */
  slowDown(head: PushHead): PushRefusal | undefined;
}

/** Seconds after which a server that is overloaded, or still starts, is worth asking again. */
const SOON_SECONDS = 1;

/** Most requests have no larger body, and come in one packet. */
const SMALL_BODY_BYTES = 1024;

/** One request and its answer. */
export class RequestHandler implements Receiving, PooledRequest {
  private readonly context: RequestContext;
  private readonly connection: Connection;
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly asksFirst: boolean;
  private readonly call: RequestCall;
  private family: PushFamily = 'other';
  private endpoint: Endpoint | undefined;
  /** The number of the instance whose secret key it has. */
  private backend: number | undefined;
  private place: Place | undefined;
  /** Gives up its turn, while it waits for that. */
  private leaveTurns: (() => void) | undefined;
  private bodyMax = 0;
  private parts: Uint8Array[] = [];
  private receivedBytes = 0;
  private receivingSinceMs = 0;
  /** Nothing of the body is still to come. */
  private received: boolean;
  /** Its endpoint is at it: what that does cannot be taken back. */
  private isRunning = false;
  /** It is refused by its head because of how much its sender asks: the connection ends, with all else that was sent on it. */
  private isShed = false;
  private answered = false;
  private finished = false;
  private allow: string | undefined;
  private lingering: ReturnType<typeof setTimeout> | undefined;

  /** `asksFirst`: the sender waits to be told that it may send the body. */
  constructor(
    context: RequestContext,
    connection: Connection,
    request: IncomingMessage,
    response: ServerResponse,
    asksFirst: boolean,
  ) {
    this.context = context;
    this.connection = connection;
    this.request = request;
    this.response = response;
    this.asksFirst = asksFirst;
    this.call = new RequestCall(request, connection, context.proxies);
    this.received = !hasBody(request);
  }

  begin(): void {
    const { requestsPerConnection } = this.context.bounds;
    if (this.connection.begin(this.received ? undefined : this) > requestsPerConnection) {
      this.cutOff('it has too many requests without an answer');
      this.finish();
      return;
    }
    try {
      const early = this.answerOfHead();
      if (early !== undefined) this.inTurn(1, () => this.answerEarly(early));
      else if (!this.received) this.admitBody();
      else this.inTurn(1, () => this.run());
    } catch (error) {
      this.fail(error);
    }
  }

  breakOff(refusal: PushRefusal): void {
    this.received = true;
    this.connection.receiving = undefined;
    if (!this.answered) this.refuse(refusal, { connection: 'close' });
    else if (this.lingering !== undefined) this.stopLingering();
    else this.connection.destroy();
  }

  abandon(): void {
    this.received = true;
    this.answered = true;
    clearTimeout(this.lingering);
    this.finish();
  }

  /** Breaks the request off where its body has come too slowly so far. */
  checkSpeed(nowMs: number): void {
    const { bodyBytesPerSecond, bodyGraceMs } = this.context.bounds;
    const overdueMs = nowMs - this.receivingSinceMs - bodyGraceMs;
    if (this.receivedBytes * 1000 >= overdueMs * bodyBytesPerSecond) return;
    this.breakOff(
      new PushRefusal(
        'timeout',
        `The body comes too slowly: it must have ${bodyBytesPerSecond} bytes per second`,
      ),
    );
  }

  giveWay(): void {
    this.leave();
    // What is being done can be neither undone nor said to have failed, and answers keep their order.
    if (this.answered) {
      this.cutOff('answers that nobody takes fill the memory for them');
    } else if (this.isRunning || this.connection.hasEarlier) {
      this.cutOff('others need its place');
    } else {
      this.refuse(this.overloaded(), { connection: 'close' });
    }
  }

  /** What the request gets whatever its body says; `undefined`: the body matters. */
  private answerOfHead(): PushRefusal | 'preflight' | undefined {
    const early = this.judgeHead();
    if (this.backend === undefined) {
      // Also what is refused anyway costs time, and there may be any number of it.
      const slowDown = this.context.slowDown(this.call);
      if (slowDown !== undefined) {
        this.isShed = true;
        return slowDown;
      }
    }
    if (!this.enter()) return this.overloaded();
    if (early !== undefined) return early;
    return announcedBytes(this.request) > this.bodyMax ? this.tooLarge() : undefined;
  }

  /** Finds what the request asks for, and who asks; or why its head alone is refused. */
  private judgeHead(): PushRefusal | 'preflight' | undefined {
    const { endpoints } = this.context;
    const { headers, httpVersion } = this.request;
    const { method, path } = this.call;
    const found = findRoute(method, path);
    this.family = found.family;
    if (headers.host === undefined && httpVersion === '1.1') {
      return new PushRefusal('bad-request', 'The Host header is missing');
    }
    if (method === 'OPTIONS' && preflightOf(this.family) !== undefined) return 'preflight';
    switch (found.found) {
      case 'nothing':
        return new PushRefusal('not-found', 'There is no such path');
      case 'no-instance':
        return new PushRefusal('incomplete', 'The instance-id is missing from the path');
      case 'path':
        this.allow = found.allow;
        return new PushRefusal('wrong-method', `This path takes ${found.allow}`);
      case 'endpoint': {
        if (endpoints === undefined) {
          return new PushRefusal('store', 'The server is starting', SOON_SECONDS);
        }
        if (this.call.hasMoreParameters(QUERY_PARAMETERS_MAX)) {
          const most = `${QUERY_PARAMETERS_MAX} parameters at most`;
          return new PushRefusal('bad-request', `The query may have ${most}`);
        }
        this.endpoint = endpoints[found.endpoint];
        this.call.params = found.params;
        this.bodyMax = bodyBytesMax[found.endpoint];
        const judged = this.endpoint.before?.(this.call);
        if (judged instanceof PushRefusal) {
          this.isShed = judged.problem === 'rate-limited';
          return judged;
        }
        this.backend = judged?.instance;
        return undefined;
      }
      default:
        return found satisfies never;
    }
  }

  /** Takes a place among the requests under way; `false`: there is none, and nobody has to give one up for it. */
  private enter(): boolean {
    const { backends, anonymous } = this.context;
    if (this.backend === undefined) {
      this.place = anonymous.enter(this.call.addressKey, this);
    } else {
      this.context.heardBackend();
      this.place = backends.enter(this.backend, this);
    }
    return this.place !== undefined;
  }

  /** Reads the body, once whatever must be known first is known. Until then, none of it is in memory. */
  private admitBody(): void {
    const asked = this.endpoint?.beforeBody?.(this.call);
    if (asked === undefined) {
      this.acceptBody();
      return;
    }
    asked.then(
      (refusal) => {
        if (this.answered) return;
        if (refusal === undefined) {
          this.acceptBody();
        } else {
          this.refuse(refusal);
          this.receiveBody();
        }
      },
      (error) => this.fail(error),
    );
  }

  private acceptBody(): void {
    if (this.asksFirst) this.response.writeContinue();
    this.receivingSinceMs = performance.now();
    this.context.receiving.add(this);
    this.receiveBody();
  }

  private receiveBody(): void {
    this.request.on('data', (part: Uint8Array) => this.receive(part));
    this.request.on('end', () => this.complete());
  }

  private receive(part: Uint8Array): void {
    this.receivedBytes += part.length;
    if (this.lingering !== undefined) {
      if (this.receivedBytes > this.context.bounds.lingerBytes) this.stopLingering();
    } else if (!this.answered) {
      this.parts.push(part);
      const fits = this.hold(part.length);
      if (this.receivedBytes > this.bodyMax) this.refuse(this.tooLarge());
      else if (!fits) this.refuse(this.overloaded(), { connection: 'close' });
    }
  }

  private complete(): void {
    this.received = true;
    this.context.receiving.delete(this);
    if (this.connection.receiving === this) this.connection.receiving = undefined;
    if (this.lingering !== undefined) this.stopLingering();
    else if (!this.answered) this.inTurn(costOf(this.receivedBytes), () => this.run());
  }

  /** Goes on when it is its turn, which mostly is at once; with what is shed, always. */
  private inTurn(cost: number, goOn: () => Promise<void> | undefined): void {
    const { backendScheduler, anonymousScheduler } = this.context;
    if (this.isShed) {
      void goOn();
      return;
    }
    const start = () => {
      this.leaveTurns = undefined;
      try {
        if (!this.connection.isClosed) return goOn();
        // Nobody waits for it any more.
        this.finish();
      } catch (error) {
        this.fail(error);
      }
      return undefined;
    };
    if (this.backend === undefined) {
      this.waitIn(anonymousScheduler, { owner: this.call.addressKey, cost, start });
    } else {
      this.waitIn(backendScheduler, { owner: this.backend, cost, start });
    }
  }

  private waitIn<Owner extends string | number>(
    turns: RequestScheduler<Owner>,
    request: WaitingRequest<Owner>,
  ): void {
    this.leaveTurns = () => turns.remove(request);
    turns.add(request);
  }

  /** Answers a request whose body does not matter; what is still to come of it is read and dropped. */
  private answerEarly(early: PushRefusal | 'preflight'): undefined {
    if (early === 'preflight') this.respond(204, { ...preflightOf(this.family) }, '');
    else this.refuse(early);
    if (!this.received) this.receiveBody();
  }

  private run(): Promise<void> | undefined {
    const first = this.parts[0];
    // Most bodies come in one piece, which needs no copy.
    if (first !== undefined) {
      this.call.body = this.parts.length === 1 ? first : Buffer.concat(this.parts);
    }
    this.isRunning = true;
    try {
      const answer = this.endpoint?.answer(this.call);
      if (answer instanceof Promise) {
        return answer.then(
          (given) => this.give(given),
          (error) => this.fail(error),
        );
      }
      if (answer !== undefined) this.give(answer);
    } catch (error) {
      this.fail(error);
    }
    return undefined;
  }

  private give(answer: PushAnswer): void {
    try {
      if (answer instanceof PushRefusal) {
        this.refuse(answer);
      } else if ('json' in answer) {
        const headers = { 'content-type': JSON_TYPE, ...corsOf(this.family) };
        this.respond(200, headers, `${answer.json}\n`);
      } else if ('text' in answer) {
        const { text, contentType } = answer;
        const headers = { ...answer.headers, 'content-type': contentType, ...corsOf(this.family) };
        this.respond(200, headers, text);
      } else {
        this.respond(200, { ...corsOf(this.family) }, '');
      }
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    const { log } = this.context;
    const { method, path } = this.call;
    log.error('A push request failed inside the server', {
      method,
      path: pathForLog(path),
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    if (this.response.headersSent) {
      // Half of an answer cannot be taken back.
      this.connection.destroy();
      this.finish();
      return;
    }
    this.answered = false;
    this.refuse(new PushRefusal('internal', 'Internal server error'));
  }

  private refuse(refusal: PushRefusal, more?: Readonly<Record<string, string>>): void {
    const { log, refusals } = this.context;
    const { status } = statuses[refusal.problem];
    const { address, addressKey, method, path } = this.call;
    refusals.run(addressKey, (throttled) =>
      log[status < 500 ? 'info' : 'warn']('Push request refused', {
        address,
        method,
        path: pathForLog(path),
        status,
        why: refusal.description,
        ...throttled,
      }),
    );
    const headers = { ...headersOf(refusal, this.family), ...more };
    if (this.isShed) headers['connection'] = 'close';
    if (this.allow !== undefined) headers['allow'] = this.allow;
    this.respond(status, headers, bodyOf(refusal));
  }

  private respond(status: number, headers: Record<string, string | number>, text: string): void {
    const { response, connection } = this;
    if (this.answered) return;
    this.answered = true;
    this.context.receiving.delete(this);
    this.waitNoMore();
    this.parts = [];
    this.place?.release();
    if (response.destroyed) {
      // Nobody is there any more.
      this.finish();
      return;
    }
    const lingers = !this.received && this.mustLinger(headers['connection'] === 'close');
    if (lingers || connection.closing) headers['connection'] = 'close';
    if (status !== 204) headers['content-length'] = Buffer.byteLength(text);
    response.writeHead(status, headers);
    this.context.meter.count('pushRequests', 1, this.family, String(status));
    if (lingers) this.linger(text);
    else this.send(text);
  }

  /** Whether the connection must stay open for a while after the answer: what is still to come is not little. */
  private mustLinger(isLast: boolean): boolean {
    // The rest of a small request has come already, or its sender tries again without having seen the answer.
    if (this.isShed && announcedBytes(this.request) <= SMALL_BODY_BYTES) return false;
    return isLast || !this.canSkipRest();
  }

  /** Whether what is still to come of a refused request is so little that the connection can go on after it. */
  private canSkipRest(): boolean {
    // Who asked first may send nothing more, or all of it: nobody knows where the next request begins.
    return !this.asksFirst && announcedBytes(this.request) <= this.context.bounds.restBytes;
  }

  private send(text: string): void {
    const { response } = this;
    response.end(text);
    if (response.writableFinished) {
      this.finish();
      return;
    }
    // Seldom needed, so that a timer of each connection would cost too much.
    const { untakenMs } = this.context.bounds;
    const timer = setTimeout(() => this.cutOff('nobody takes its answers'), untakenMs);
    response.once('close', () => {
      clearTimeout(timer);
      this.finish();
    });
    if (!this.hold(text.length)) this.cutOff('answers that nobody takes fill the memory for them');
  }

  /** Ends the connection at once, and logs it once, whichever of its requests is the first to ask for it. */
  private cutOff(why: string): void {
    const { address, addressKey } = this.call;
    const { log, refusals } = this.context;
    if (!this.connection.cutOff()) return;
    refusals.run(addressKey, (throttled) =>
      log.info(`Push connection closed: ${why}`, { address, ...throttled }),
    );
  }

  /**
   * Gives the whole answer, but does not end the connection yet: were it closed while its sender is sending,
   * the system would take the answer back.
   */
  private linger(text: string): void {
    this.response.flushHeaders();
    if (text !== '') this.response.write(text);
    this.lingering = setTimeout(() => this.stopLingering(), this.context.bounds.lingerMs);
  }

  private stopLingering(): void {
    clearTimeout(this.lingering);
    this.lingering = undefined;
    this.response.end();
    this.finish();
  }

  private overloaded(): PushRefusal {
    this.isShed = this.backend === undefined;
    this.context.crowded(this.call, this.backend);
    return new PushRefusal('store', 'Server is overloaded, try again', SOON_SECONDS);
  }

  private tooLarge(): PushRefusal {
    return new PushRefusal(
      this.family === 'device' ? 'bad-device-request' : 'bad-request',
      `The body is larger than ${this.bodyMax / 1024} KiB`,
    );
  }

  /** Counts bytes that stay in memory. `false`: there is no room for them. */
  private hold(bytes: number): boolean {
    return this.place?.hold(bytes) ?? true;
  }

  private waitNoMore(): void {
    this.leaveTurns?.();
    this.leaveTurns = undefined;
  }

  private leave(): void {
    this.place?.leave();
    this.place = undefined;
  }

  private finish(): void {
    if (this.finished) return;
    this.finished = true;
    this.parts = [];
    this.context.receiving.delete(this);
    this.waitNoMore();
    this.leave();
    this.connection.finish();
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** `NaN` where it is not said beforehand, which is neither more nor less than any bound. */
function announcedBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length']);
}
